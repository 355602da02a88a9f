"""What every wire format's reply is made of: ids that are new each time, pieces of a stream, counted tokens."""

import secrets
from collections.abc import Iterator

from tests.suites.frameworks.model_server.mind import Conversation, Decision


def minted(kind: str) -> str:
    """An id that no other reply has, as providers give them."""
    return f"{kind}_{secrets.token_hex(12)}"


def pieces(text: str, size: int = 40) -> Iterator[str]:
    """`text` as a stream brings it."""
    return (text[start : start + size] for start in range(0, len(text), size))


def usage_of(conversation: Conversation, decision: Decision) -> tuple[int, int]:
    """Tokens in and out, by a count that depends on nothing minted."""
    written = len(decision.text.split()) + sum(8 + 2 * len(call.arguments) for call in decision.calls)
    return 50 + len(conversation.guest.split()) + 30 * len(conversation.made), written
