"""How a simulated user ends a conversation: a signal of its own, which no text of an agent can be."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

Wish = Literal["goal_reached", "gave_up"]

_SIGNAL: Final = re.compile(
    r"\[\[\s{0,9}END\s{0,9}:?\s{0,9}(GOAL REACHED|GAVE UP)\s{0,9}\]\]|</finished>", re.IGNORECASE
)
"""`</finished>` is the signal of Google ADK's simulator, which models that know it use: the goal is reached."""
_LIKE_ONE: Final = re.compile(
    r"\[\s{0,9}\[\s{0,9}E\s?N\s?D\b[^\]\n]{0,60}[\] ]*|"
    r"</?\s{0,9}finished\s{0,9}/?>|##\s{0,9}(?:STOP|TRANSFER|OUT-OF-SCOPE)\s{0,9}##",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A message of a user's model, read."""

    text: str
    """What it says beside a signal."""
    wish: Wish | None = None
    """How it wants to end; None: it does not."""


def read_signal(message: str) -> Spoken:
    """The message without its stop signal, and what the signal says."""
    found = _SIGNAL.search(message)
    if found is None:
        return Spoken(text=message.strip())
    wish: Wish = "gave_up" if (found[1] or "").upper() == "GAVE UP" else "goal_reached"
    return Spoken(text=_SIGNAL.sub(" ", message).strip(), wish=wish)


def without_signals(text: str) -> str:
    """A text of the agent in which nothing looks like a stop signal: what the user's model is given."""
    plain = unicodedata.normalize("NFKC", text)
    return _LIKE_ONE.sub("[...]", plain) if _LIKE_ONE.search(plain) is not None else text


def has_signal(text: str) -> bool:
    """Whether a text holds something like a stop signal: in an agent's reply, an attempt to end the conversation."""
    return _LIKE_ONE.search(unicodedata.normalize("NFKC", text)) is not None
