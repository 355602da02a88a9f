"""What a tool does, by the words of its name wherever they stand, and what it does it to.

`cancelOrder`, `orders_cancel`, `mcp__shop__cancel_order` and `shop.cancel-order` do the same as `cancel_order`. A name
without a known verb does what its description's first line says. Words that are verbs and nouns (order, return, book)
are verbs only where the name has no other verb. Whether a tool writes is its declaration's to say, never its name's.
"""

import re
from functools import lru_cache
from typing import Final

from harness.case import ToolSpec

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE: Final = re.compile(r"[A-Za-z]{3,24}")
_VERBS: Final = frozenset(
    {"activate", "add", "adjust", "apply", "assign", "buy", "cancel", "check", "close", "configure", "create"}
    | {"deactivate", "delete", "disable", "downgrade", "edit", "enable", "enroll", "fetch", "find", "get", "grant"}
    | {"issue", "list", "modify", "move", "notify", "pause", "pay", "publish", "purchase", "put", "read", "rebook"}
    | {"reboot", "refresh", "register", "reload", "remove", "rename", "replace", "reserve", "reset", "restart"}
    | {"restore", "resume", "revoke", "schedule", "search", "seat", "sell", "send", "show", "submit", "subscribe"}
    | {"suspend", "swap", "terminate", "toggle", "transfer", "turn", "unsubscribe", "update", "upgrade", "upload"}
    | {"view", "void", "write"}
)
_ALSO_NOUNS: Final = frozenset(
    {"book", "change", "email", "exchange", "message", "open", "order", "place", "refund", "return", "set", "trade"}
)
_EMPTY: Final = frozenset({"the", "and", "for", "with", "from", "this", "that", "user", "users", "tool", "new", "all"})


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a tool's name, case folded, in order."""
    return tuple(word.casefold() for word in _WORD.findall(name))


@lru_cache(maxsize=4096)
def action_of(name: str) -> str:
    """The verb of a tool's name; its first word where none is known as one."""
    words = words_of(name.rsplit("__", 1)[-1].rsplit(".", 1)[-1]) or words_of(name)
    sure = next((word for word in words if word in _VERBS), None)
    ambiguous = next((word for word in words if word in _ALSO_NOUNS), None)
    return sure or ambiguous or (words[0] if words else "")


def deed_of(tool: ToolSpec) -> str:
    """The verb of a tool's name; where none is known there, the first of its description's first line."""
    return _deed(tool.name, tool.description)


@lru_cache(maxsize=4096)
def _deed(name: str, description: str) -> str:
    verb = action_of(name)
    if verb in _VERBS or verb in _ALSO_NOUNS:
        return verb
    told = (singular(word.casefold()) for word in _SENTENCE.findall(description.split("\n", 1)[0][:300]))
    return next((word for word in told if word in _VERBS or word in _ALSO_NOUNS), verb)


def objects_of(tool: ToolSpec) -> frozenset[str]:
    """What a tool acts on: the nouns of its name and of its description's first line, singular."""
    return _objects(tool.name, tool.description)


@lru_cache(maxsize=4096)
def _objects(name: str, description: str) -> frozenset[str]:
    told = " ".join((*words_of(name), description.split("\n", 1)[0][:300]))
    action = action_of(name)
    words = (word.casefold() for word in _SENTENCE.findall(told))
    return frozenset(singular(word) for word in words if word not in _EMPTY and word != action and word not in _VERBS)


def singular(word: str) -> str:
    """A rough stem: `orders` and `order`, `addresses` and `address` are one."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
