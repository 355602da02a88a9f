"""Which language a message is in, by its script and its most frequent words; None where that cannot be determined."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from harness.simulate.meaning.words import listed, stem

_FILE: Final = "frequent_words.txt"
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LEAST_WORDS: Final = 4
_ADDRESSING: Final = listed(
    "dein deine deinen deinem deiner deines dich dir bist hast sollst tu tus eres tienes debes unos unas"
)
_MAIN: Final = {
    "LATIN",
    "CYRILLIC",
    "GREEK",
    "ARABIC",
    "HEBREW",
    "DEVANAGARI",
    "THAI",
    "HANGUL",
    "HIRAGANA",
    "KATAKANA",
    "CJK",
}


@lru_cache(maxsize=4096)
def language_of(text: str) -> str | None:
    """A two-letter code for languages with Latin letters, else the script in lower case."""
    script = _script(text)
    if script not in (None, "LATIN"):
        return "cjk" if script in ("HIRAGANA", "KATAKANA", "CJK") else script.lower()
    words = [word.casefold() for word in _WORD.findall(text[:4000].replace("\u2019", "'"))]
    if len(words) < _LEAST_WORDS:
        return None
    counts = {name: sum(word in frequent for word in words) for name, frequent in _frequent().items()}
    best = max(counts, key=lambda name: counts[name])
    second = max(count for name, count in counts.items() if name != best)
    return best if counts[best] >= 2 and counts[best] > second else None


def is_function_word(root: str) -> bool:
    """Whether a stem is that of a most frequent word of a language, or of a word that addresses the user."""
    return root in _function_roots()


@cache
def _function_roots() -> frozenset[str]:
    return frozenset(map(stem, _ADDRESSING.union(*_frequent().values())))


@cache
def _frequent() -> Mapping[str, frozenset[str]]:
    """Language -> its most frequent words."""
    lines = (Path(__file__).parent / _FILE).read_text(encoding="utf-8").splitlines()
    return {name: frozenset(words.split()) for name, _, words in (line.partition(":") for line in lines)}


def _script(text: str) -> str | None:
    found: dict[str, int] = {}
    for letter in text[:1000]:
        if letter.isalpha():
            name = unicodedata.name(letter, "").split(" ")[0]
            if name in _MAIN:
                found[name] = found.get(name, 0) + 1
    return max(found, key=lambda name: found[name]) if found else None
