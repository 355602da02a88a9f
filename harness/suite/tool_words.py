"""Whether a tool only reads, by the words of its name wherever they occur, and of its description.

`getOrder`, `orders_get`, `mcp__shop__get_order` and `shop.get-order` do the same as `get_order`. Whether a tool writes
is its declaration's to say. Only if a foreign file declares nothing, its words are asked: those of the name, and of a
name without a known verb those of the description's first line.
"""

import re
from functools import lru_cache
from typing import Final

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
_READING: Final = frozenset(
    {"calculate", "can", "check", "count", "describe", "fetch", "find", "get", "has", "inspect", "is", "list", "look"}
    | {"lookup", "query", "read", "retrieve", "search", "show", "test", "think", "view"}
)
_FORMS: Final = ("ing", "es", "s", "ed")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a tool's name, case folded, in order."""
    return tuple(word.casefold() for word in _WORD.findall(name))


def bare_name(name: str) -> str:
    """A tool's name without the server or group that precedes it (`mcp__shop__cancel`, `shop.cancel`)."""
    return name.rsplit("__", 1)[-1].rsplit(".", 1)[-1] or name


def reads_by_its_words(name: str, description: str) -> bool:
    """Whether the name, or of a name without a verb the description's first line, says that a tool only reads."""
    words = words_of(bare_name(name)) or words_of(name)
    known = [word for word in words if word in _VERBS or word in _READING]
    if not known:
        said = (_base(word) for word in _SENTENCE.findall(description.split("\n", 1)[0][:300]))
        known = [word for word in said if word in _VERBS or word in _READING or word in _ALSO_NOUNS][:1]
    return bool(known) and all(word in _READING for word in known)


def _base(word: str) -> str:
    """`Cancels`, `cancelling` and `cancelled` as `cancel`; what is not a form of a known verb as it is."""
    word = word.casefold()
    for ending in _FORMS:
        stem = word[: -len(ending)] if word.endswith(ending) else word
        for one in (stem, stem + "e", stem[:-1] if stem[-2:-1] == stem[-1:] else stem, stem[:-1] + "y"):
            if one in _VERBS or one in _ALSO_NOUNS or one in _READING:
                return one
    return word
