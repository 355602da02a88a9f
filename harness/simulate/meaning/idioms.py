"""Set phrases by what they mean: `prior to` is `before`, `all set` and `Great!` say nothing."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from harness.simulate.meaning.words import lines_of, listed

_FILE: Final = "idioms.txt"
_MARKS: Final = ".,!?;:\"')]}"
_QUOTES: Final = frozenset("\"'([{\u201c")
_ENDS: Final = (".", "!", "?", ";", ":", "\u2026")
_EXCLAIMED: Final = listed(
    "great excellent perfect wonderful good nice fantastic awesome amazing lovely brilliant splendid super fine right "
    "correct first finally lastly next second third"
)
"""Words that open a sentence by themselves: `Great!`, `First, ...`."""


Phrase = tuple[tuple[str, ...], str]
"""Its words, and what they mean."""


def without_idioms(text: str) -> str:
    """A text in lower case in which each set phrase stands as the word that it means."""
    words = text.split()
    phrases = _phrases()
    if phrases.keys().isdisjoint(words) and _QUOTES.isdisjoint(text):
        return text
    found: list[str] = []
    place, many = 0, len(words)
    while place < many:
        word = words[place]
        known = phrases.get(word) or (phrases.get(word[1:]) if word[0] in _QUOTES else None)
        follows = words[place + 1].rstrip(_MARKS) if known is not None and place + 1 < many else ""
        if known is None or (follows not in known and "" not in known):
            found.append(word)
            place += 1
            continue
        taken, meaning = _read(words, place, (*known.get(follows, ()), *known.get("", ())))
        found += meaning
        place += taken
    return " ".join(found)


def _read(words: Sequence[str], place: int, phrases: Iterable[Phrase]) -> tuple[int, list[str]]:
    """How many words are taken, and what they mean."""
    for phrase, meaning in phrases:
        many = len(phrase)
        if place + many > len(words) or (many == 1 and place and not words[place - 1].endswith(_ENDS)):
            continue
        if many == 1:
            return 1, [meaning] if meaning else []
        last = words[place + many - 1]
        plain = last.rstrip(_MARKS)
        if (*words[place + 1 : place + many - 1], plain) == phrase[1:]:
            quote = words[place][0] if words[place][0] in _QUOTES else ""
            return many, [one for one in (quote + meaning, last[len(plain) :]) if one]
    return 1, [words[place]]


@cache
def _phrases() -> Mapping[str, Mapping[str, Sequence[Phrase]]]:
    """The first word -> the second one, or nothing -> the phrases that begin so, the longest first."""
    found: dict[str, dict[str, list[Phrase]]] = {}
    for line in lines_of(_FILE):
        text, _, meaning = line.partition(":")
        words = tuple(text.split())
        found.setdefault(words[0], {}).setdefault(words[1], []).append((words, meaning.strip()))
    for word in _EXCLAIMED:
        for mark in "!,":
            found.setdefault(word + mark, {})[""] = [((word + mark,), "")]
    for seconds in found.values():
        for phrases in seconds.values():
            phrases.sort(key=lambda one: -len(one[0]))
    return found
