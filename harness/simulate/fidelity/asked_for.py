"""Whether a question asks for something without its name: for an amount, a day, a place, or for whatever there is."""

import re
from collections.abc import Set
from typing import Final

_ANYTHING: Final = re.compile(
    r"\banything\b.{0,30}\b(?:should|need to|must|ought to|could)\b.{0,20}\b(?:know|consider|take into account)\b|"
    r"\bany (?:other |further |special |particular )?(?:preferences?|requirements?|restrictions?|requests?|wishes|"
    r"needs|"
    r"constraints?|conditions?)\b|\btell (?:me|us) more\b|\b(?:dietary|special) (?:needs|restrictions?|"
    r"requirements?)\b|"
    r"\bworauf (?:soll|muss) ich achten\b|\b(?:besondere|weitere) w\u00fcnsche\b|"
    r"\balguna (?:preferencia|restricci\u00f3n|necesidad)\b|\balgo que deba saber\b",
    re.IGNORECASE,
)
_AMOUNT: Final = (
    r"how much (?:would|do|can|could|may|are) you|budget|price (?:limit|range)|spend|afford|"
    r"wie ?viel (?:m\u00f6chten|wollen|k\u00f6nnen|darf)|ausgeben|cu\u00e1nto (?:quiere|puede|desea)|gastar|presupuesto"
)
_DAY: Final = r"when|what day|which day|what date|what time|wann|welche[rmn]? tag|cu\u00e1ndo|qu\u00e9 d\u00eda|hora"
_NUMBER: Final = r"how many|how old|wie ?viele|wie alt|cu\u00e1nt[oa]s|edad"
_KINDS: Final = {
    kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for kind, words in (
        ("money", _AMOUNT),
        ("date", _DAY),
        ("time", _DAY),
        ("number", _NUMBER),
        ("percent", _NUMBER),
    )
}
KINDS: Final = frozenset(("money", "date", "time", "number", "percent"))
"""Kinds of values that are asked for by words of their own."""
_TOPICS: Final = (
    (re.compile(r"loyal|reward|bonus", re.IGNORECASE), re.compile(r"\bmember\w*|\bmitglied\w*", re.IGNORECASE)),
    (
        re.compile(r"address|street|live|adress|wohn|direcci|domicilio", re.IGNORECASE),
        re.compile(r"\b(?:where|deliver\w*|ship\w*|wohin|wo|liefer\w*|d\u00f3nde|enviar\w*)\b", re.IGNORECASE),
    ),
    (
        re.compile(r"^name|nombre", re.IGNORECASE),
        re.compile(r"\b(?:who|wer|hei\u00dfen|qui\u00e9n|llama\w*)\b", re.IGNORECASE),
    ),
)
"""For words of what is withheld the words by which it is asked for."""


def asks_for_anything(question: str) -> bool:
    """Whether a question leaves it to the user what to tell."""
    return _ANYTHING.search(question) is not None


def asks_for_a_kind(question: str, kinds: Set[str], topic: Set[str]) -> bool:
    """Whether a question asks for a value of one of the kinds, or for the topic by other words."""
    if any(kind in _KINDS and _KINDS[kind].search(question) for kind in kinds):
        return True
    return any(
        asked.search(question) is not None and any(named.search(word) for word in topic) for named, asked in _TOPICS
    )
