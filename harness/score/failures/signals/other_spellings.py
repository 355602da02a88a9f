"""Identifiers that were given in another spelling: `KX-998-124`, `K X 9 9 8 1 2 4` and `kx998124` are one.

So are numbers with and without separators of thousands, and a code behind an escape (`%2FKX998124`, `\\nKX998124`).
Texts are searched only for values that are not known as they stand, which are few.
"""

import re
from array import array
from functools import cached_property
from itertools import chain
from typing import Final

_SEPARATOR: Final = "(?:[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}_.,'\N{RIGHT SINGLE QUOTATION MARK}/-]|\\) )?"
_BEFORE: Final = r"(?:(?<![^\W_])|(?<=%[0-9a-f]{2})|(?<=\\[nrtbf]))"
_AFTER: Final = r"(?![^\W_])"
_SHORTEST: Final = 5
"""Characters; a shorter value is met by chance."""
_LONGEST: Final = 64
_WORD: Final = re.compile(r"[^\W_]+")


class GivenTexts:
    """Texts in the order in which they were given."""

    def __init__(self) -> None:
        self._texts: list[_Text] = []
        self._searched: dict[str, tuple[int, int | None]] = {}

    def add(self, text: str, moment: int) -> None:
        self._texts.append(_Text(text, moment))

    def since(self, value: str) -> int | None:
        """The moment of the first text that has the value in any spelling; None: no text has."""
        letters = _bare(value)
        if not _SHORTEST <= len(letters) <= _LONGEST or not any(map(str.isdigit, letters)):
            return None
        searched, found = self._searched.get(letters, (0, None))
        if found is None:
            holding = [text for text in self._texts[searched:] if letters in text.letters]
            if holding:  # few values have their letters anywhere, and an expression takes time to compile
                spelled = re.compile(_BEFORE + _SEPARATOR.join(letters) + _AFTER)
                found = next((text.moment for text in holding if text.has(letters, spelled)), None)
            self._searched[letters] = (len(self._texts), found)
        return found


class _Text:
    """A text, and where its letters and digits stand. A value is compared only where its letters follow each other,
    so that neither a long text nor one of a single repeated character takes long.
    """

    def __init__(self, text: str, moment: int) -> None:
        self.moment = moment
        self._text = text

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def letters(self) -> str:
        """The folded text without all else."""
        return "".join(_WORD.findall(self._folded))

    @cached_property
    def _places(self) -> "array[int]":
        """For each of the letters, its place in the folded text."""
        return array("L", chain.from_iterable(range(*word.span()) for word in _WORD.finditer(self._folded)))

    def has(self, letters: str, spelled: re.Pattern[str]) -> bool:
        at = self.letters.find(letters)
        while at >= 0:
            if spelled.match(self._folded, self._places[at]):
                return True
            at = self.letters.find(letters, at + 1)
        return False


def _bare(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
