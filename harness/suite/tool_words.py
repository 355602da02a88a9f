"""What a tool does, by the words of its name wherever they occur, its description and its schema.

`cancelOrder`, `orders_cancel`, `mcp__shop__cancel_order` and `shop.cancel-order` do the same as `cancel_order`. A name
without a known verb does what its description's first line says. A tool that takes what it is to do as an argument
(`{"action": {"enum": ["cancel", "modify"]}}`) does what the call says. Words that are verbs and nouns (order, return,
book) are verbs only if neither the name nor the description has another verb before them. Whether a tool writes is
its declaration's to say. Only if a foreign file declares nothing, its words are asked.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from harness.suite.tools import ToolSpec
from harness.values import JsonObject

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE: Final = re.compile(r"[A-Za-z]{3,24}")
_VERBS: Final = frozenset(
    {"activate", "add", "adjust", "apply", "approve", "archive", "assign", "buy", "cancel", "check", "close"}
    | {"configure", "create", "deactivate", "delete", "deploy", "disable", "downgrade", "edit", "enable", "enroll"}
    | {
        "fetch",
        "find",
        "freeze",
        "get",
        "grant",
        "import",
        "insert",
        "install",
        "invite",
        "issue",
        "list",
        "merge",
        "modify",
        "move",
    }
    | {
        "notify",
        "pause",
        "pay",
        "publish",
        "purchase",
        "put",
        "read",
        "rebook",
        "reject",
        "save",
        "unblock",
        "unfreeze",
    }
    | {"unlock", "withdraw"}
    | {"reboot", "refresh", "register", "reload", "remove", "rename", "replace", "reserve", "reset", "restart"}
    | {"restore", "resume", "revoke", "schedule", "search", "seat", "sell", "send", "show", "submit", "subscribe"}
    | {"suspend", "swap", "terminate", "toggle", "transfer", "turn", "unsubscribe", "update", "upgrade", "upload"}
    | {"view", "void", "write"}
)
_ALSO_NOUNS: Final = frozenset(
    {"block", "book", "change", "comment", "commit", "email", "exchange", "lock", "message", "open", "order", "place"}
    | {"post", "push", "refund", "reply", "return", "set", "share", "trade"}
)
_DEED_NOUNS: Final = MappingProxyType(
    {
        "activation": "activate",
        "booking": "book",
        "cancellation": "cancel",
        "creation": "create",
        "deletion": "delete",
        "enrollment": "enroll",
        "modification": "modify",
        "payment": "pay",
        "registration": "register",
        "removal": "remove",
        "reservation": "reserve",
        "transfer": "transfer",
    }
)
"""What is done, said as a thing: `make_payment` pays, `update_booking` does not book."""
_ONLY_DEEDS: Final = frozenset(
    {"activation", "cancellation", "creation", "deletion", "enrollment", "modification", "registration", "removal"}
)
"""Those that are no things which other tools act on."""
_LIGHT: Final = frozenset(
    {"add", "apply", "begin", "complete", "create", "do", "execute", "handle", "initiate", "issue", "make", "perform"}
    | {"place", "post", "process", "put", "request", "start", "submit"}
)
"""Verbs that leave it to the word behind them what is done."""
_READING: Final = frozenset(
    {"calculate", "can", "check", "count", "describe", "fetch", "find", "get", "has", "inspect", "is", "list", "look"}
    | {"lookup", "query", "read", "retrieve", "search", "show", "test", "think", "view"}
)
_FORMS: Final = ("ing", "es", "s", "ed")
_EMPTY: Final = frozenset({"the", "and", "for", "with", "from", "this", "that", "user", "users", "tool", "new", "all"})


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a tool's name, case folded, in order."""
    return tuple(word.casefold() for word in _WORD.findall(name))


def bare_name(name: str) -> str:
    """A tool's name without the server or group that precedes it (`mcp__shop__cancel`, `shop.cancel`)."""
    return name.rsplit("__", 1)[-1].rsplit(".", 1)[-1] or name


@lru_cache(maxsize=4096)
def action_of(name: str) -> str:
    """The verb of a tool's name; its first word if none is known as one."""
    words = words_of(bare_name(name)) or words_of(name)
    sure = next((word for word in words if word in _VERBS), None)
    ambiguous = next((word for word in words if word in _ALSO_NOUNS), None)
    noun = next((_DEED_NOUNS[word] for word in map(singular, words) if word in _DEED_NOUNS), None)
    if words and singular(words[-1]) in _ONLY_DEEDS:
        ambiguous = noun  # what an order's cancellation does is to cancel
    return sure or ambiguous or noun or (words[0] if words else "")


def deed_of(tool: ToolSpec) -> str:
    """The verb of a tool's name; if none is known there, the first of its description's first line."""
    return _verb_of(tool.name, tool.description)


def deeds_of(tool: ToolSpec) -> frozenset[str]:
    """Every verb that a call of the tool can stand for: its own, and those that its schema lets a call choose."""
    chosen = {verb for _, verbs in _choices(tool) for verb in verbs.values()}
    return _own_deeds(tool.name, tool.description) | chosen


def deeds_in(tool: ToolSpec, arguments: JsonObject | None) -> frozenset[str]:
    """The verbs that one call stands for: what its arguments choose, else the tool's own."""
    given = arguments or {}
    chosen = {verbs[str(given[name])] for name, verbs in _choices(tool) if str(given.get(name)) in verbs}
    return frozenset(chosen) or _own_deeds(tool.name, tool.description)


def reads_by_its_words(name: str, description: str) -> bool:
    """Whether the name, or of a name without a verb the description's first line, says that a tool only reads."""
    words = words_of(bare_name(name)) or words_of(name)
    known = [word for word in words if word in _VERBS or word in _READING]
    if not known:
        said = (_base(word) for word in _SENTENCE.findall(description.split("\n", 1)[0][:300]))
        known = [word for word in said if word in _VERBS or word in _READING or word in _ALSO_NOUNS][:1]
    return bool(known) and all(word in _READING for word in known)


def _choices(tool: ToolSpec) -> Iterator[tuple[str, Mapping[str, str]]]:
    """(argument, its value -> verb) of the arguments whose every value begins with a verb."""
    properties = tool.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        values = schema.get("enum") if isinstance(schema, dict) else None
        if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
            verbs = {str(value): action_of(str(value)) for value in values}
            if all(verb in _VERBS or verb in _ALSO_NOUNS for verb in verbs.values()):
                yield name, verbs


@lru_cache(maxsize=4096)
def _verb_of(name: str, description: str) -> str:
    verb = action_of(name)
    if verb in _VERBS:
        return verb
    words = (_base(word) for word in _SENTENCE.findall(description.split("\n", 1)[0][:300]))
    return next((word for word in words if word in _VERBS or word in _ALSO_NOUNS), verb)


@lru_cache(maxsize=4096)
def _own_deeds(name: str, description: str) -> frozenset[str]:
    """The verb of the tool and, if it says little (`submit_cancel_request`, `make_payment`), what is done by it."""
    verb = _verb_of(name, description)
    words = words_of(bare_name(name)) or words_of(name)
    if verb in (_VERBS | _READING) - _LIGHT:
        return frozenset({verb})
    meant = {_DEED_NOUNS[noun] for noun in map(singular, words) if noun in _DEED_NOUNS}
    if verb not in _ALSO_NOUNS - _LIGHT:
        meant.update(word for word in words if word in _VERBS or word in _ALSO_NOUNS)
    return frozenset({verb, *meant})


def _base(word: str) -> str:
    """`Cancels`, `cancelling` and `cancelled` as `cancel`; what is not a form of a known verb as it is."""
    word = word.casefold()
    for ending in _FORMS:
        stem = word[: -len(ending)] if word.endswith(ending) else word
        for one in (stem, stem + "e", stem[:-1] if stem[-2:-1] == stem[-1:] else stem, stem[:-1] + "y"):
            if one in _VERBS or one in _ALSO_NOUNS or one in _READING:
                return one
    return word


def objects_of(tool: ToolSpec) -> frozenset[str]:
    """What a tool acts on: the nouns of its name and of its description's first line, singular."""
    own = "" if any(True for _ in _choices(tool)) else deed_of(tool)
    return _object_words(tool.name, tool.description, own)


@lru_cache(maxsize=4096)
def _object_words(name: str, description: str, deed: str) -> frozenset[str]:
    text = " ".join((*words_of(name), description.split("\n", 1)[0][:300]))
    words = (word.casefold() for word in _SENTENCE.findall(text))
    things = (word for word in words if word not in _EMPTY and word not in _LIGHT and singular(word) not in _ONLY_DEEDS)
    return frozenset(singular(word) for word in things if _base(word) != deed and _base(word) not in _VERBS)


def singular(word: str) -> str:
    """A rough stem: `orders` and `order`, `addresses` and `address` are one."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
