"""What the model does next, by rules from the conversation alone.

It looks every wish up at once (parallel calls), adds one after the other, finalizes, and thanks. It is as impatient as
models are: it first tries the guest's own words as an item's id, so that "pancakes" meets the error of the service
and is put right with the id from the look-up. All that it knows is in the request: the same request, the same answer.
"""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LOOKUP, ADD, FINALIZE, FINAL, SHELL = (
    "lookup_menu_item",
    "add_item_to_order",
    "finalize_order",
    "final_answer",
    "bash",
)
THANKS = "Thank you! Please drive up to the window."
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_WISH = re.compile(
    rf"\b({'|'.join(_NUMBERS)})\s+(?:(small|medium|large)\s+)?([a-z ]+?)(?=\s+and\s|\s+please\b|[,.!?]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_FOUND = re.compile(r"""["']query["']:\s*["']([^"']+)["'],\s*["']items["']:\s*\[\s*\{\s*["']id["']:\s*["']([^"']+)""")
_TOOL_SCRIPT = "python3 /agent/tool.py"
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool called, or to be called."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A request, whatever its wire format."""

    guest: str
    tools: frozenset[str]
    made: tuple[Call, ...]
    seen: str
    """All that tools answered."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The reply: what is said, and what is called."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wish:
    """One thing that the guest asks for."""

    words: str
    quantity: int
    size: str | None


def decide(conversation: Conversation) -> Decision:
    """The next reply."""
    made = [_understood(call) for call in conversation.made]
    decision = _next(_wishes(conversation.guest), made, _found(conversation.seen))
    if SHELL in conversation.tools:
        return _by_shell(decision)
    if FINAL in conversation.tools and not decision.calls:
        return Decision(text="The order is complete.", calls=(Call(name=FINAL, arguments={"answer": decision.text}),))
    return decision


def _next(wishes: list[Wish], made: list[Call], found: dict[str, str]) -> Decision:
    asked = {call.arguments.get("query") for call in made if call.name == LOOKUP}
    open_wishes = [wish for wish in wishes if wish.words not in asked]
    if open_wishes:
        calls = tuple(Call(name=LOOKUP, arguments={"query": wish.words, "limit": 5}) for wish in open_wishes)
        return Decision(text="Let me look at the menu.", calls=calls)
    added = {call.arguments.get("item_id") for call in made if call.name == ADD}
    for wish in (wish for wish in wishes if wish.words in found):
        guess = wish.words.replace(" ", "-")
        for item_id, text in ((guess, f"Adding the {wish.words}."), (found[wish.words], "That id was wrong.")):
            if item_id not in added and found[wish.words] not in added:
                return Decision(text=text, calls=(_add(wish, item_id),))
    if added and FINALIZE not in {call.name for call in made}:
        return Decision(text="That is everything.", calls=(Call(name=FINALIZE, arguments={}),))
    return Decision(text=THANKS if added else "Good morning! What can I get for you?")


def _add(wish: Wish, item_id: str) -> Call:
    arguments = {"item_id": item_id, "quantity": wish.quantity, "size": wish.size, "modifiers": []}
    return Call(name=ADD, arguments=arguments)


def _wishes(guest: str) -> list[Wish]:
    return [
        Wish(words=words.strip().lower(), quantity=_NUMBERS[number.lower()], size=size.lower() or None)
        for number, size, words in _WISH.findall(guest)
    ]


def _found(seen: str) -> dict[str, str]:
    """Best item by the words that it was looked up with; an answer may stand quoted inside another."""
    return dict(reversed(_FOUND.findall(seen.replace("\\", ""))))


def _by_shell(decision: Decision) -> Decision:
    """The same, for an agent that has nothing but a shell."""
    commands = [f"{_TOOL_SCRIPT} {call.name} {shlex.quote(json.dumps(call.arguments))}" for call in decision.calls] or [
        f"{_SUBMIT} {shlex.quote(decision.text)}"
    ]
    text = decision.text if decision.calls else "The order is complete."
    return Decision(text=text, calls=tuple(Call(name=SHELL, arguments={"command": line}) for line in commands))


def _understood(call: Call) -> Call:
    """A command of the shell as the tool call that it makes."""
    command = call.arguments.get("command")
    if call.name != SHELL or not isinstance(command, str) or not command.startswith(_TOOL_SCRIPT):
        return call
    _, _, name, arguments = shlex.split(command)
    return Call(name=name, arguments=json.loads(arguments))


def text_of(content: object) -> str:
    """The text of a message's content: a text, or blocks of any wire format."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return "\n".join(text_of(content[key]) for key in ("text", "content", "output") if key in content)
    if isinstance(content, Iterable):
        return "\n".join(text_of(part) for part in content)
    return ""
