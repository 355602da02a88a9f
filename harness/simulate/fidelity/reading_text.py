"""Texts of a conversation in the form that the rules compare: values, lower case, plain words."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from harness.simulate.meaning.slots import Read, read_values

_NUMBERED: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)
"""The number of an item of a list, which counts nothing."""


@lru_cache(maxsize=16_384)
def cached_values(text: str) -> Read:
    """The values of a text, which is read once however often it is compared."""
    return read_values(_NUMBERED.sub("", lower_case(text)))


def read_all_values(texts: tuple[str, ...]) -> Read:
    """The values of all texts together."""
    every = Read()
    for one in map(cached_values, texts):
        every.values.update(one.values)
        every.words.update(one.words)
        every.bound |= one.bound
    return every


def without_accents(word: str) -> str:
    """A word with plain letters: `alergia` and `al\u00e9rgico` begin with the same ones."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def lower_case(text: str) -> str:
    return text.lower().replace("\u2019", "'")


def plain_words(text: str) -> str:
    """The words alone, by which two messages are the same whatever their punctuation."""
    return " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", lower_case(text)))
