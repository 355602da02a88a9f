"""Changes of one word that rules may take for another wording: an opposite, another state, another thing added."""

import re
from typing import Final

_OPPOSED: Final = (
    ("available", "discontinued"),
    ("possible", "forbidden"),
    ("before", "after"),
    ("accept", "decline"),
    ("accepted", "declined"),
    ("approved", "denied"),
    ("increase", "decrease"),
    ("higher", "lower"),
    ("more than", "less than"),
    ("arrive", "depart"),
    ("arrives", "departs"),
    ("outbound", "inbound"),
    ("allowed", "prohibited"),
    ("allow", "prohibit"),
    ("open", "closed"),
    ("active", "suspended"),
    ("correct", "wrong"),
    ("successfully", "partially"),
    ("immediately", "eventually"),
    ("required", "optional"),
    ("keep", "discard"),
    ("start", "stop"),
    ("enabled", "blocked"),
    ("working", "broken"),
    ("earlier", "later"),
    ("first", "last"),
    ("direct", "connecting"),
    ("include", "exclude"),
    ("includes", "excludes"),
    ("without", "with"),
    ("same", "other"),
    ("new", "old"),
    ("full", "partial"),
)
_ADDED: Final = (
    "I have put in a muffin as well.",
    "A courier brings it on a bicycle.",
    "Your neighbour has to sign for it.",
    "It comes with a leather pouch.",
    "The warranty lapses with it.",
    "Your account gets locked afterwards.",
    "A supervisor rejected it.",
    "It ships from the warehouse in Lisbon.",
)


def opposed(text: str) -> str | None:
    """The text with one word turned into its opposite; None where it has none of them."""
    for one, other in _OPPOSED:
        if re.search(rf"\b{one}\b", text):
            return re.sub(rf"\b{one}\b", other, text)
    return None


def added(text: str) -> str:
    """The text with one more statement before its last sentence."""
    parts = re.split(r"(?<=[.!])\s+(?=[A-Z])", text.strip())
    return " ".join([*parts[:-1], _ADDED[len(text) % len(_ADDED)], parts[-1]])
