"""Identifiers that were given in another spelling: `KX-998-124`, `K X 9 9 8 1 2 4` and `kx998124` are one.

So are numbers with and without separators of thousands, and a code behind an escape (`%2FKX998124`, `\\nKX998124`).
Texts are searched only for values that are not known as they stand, which are few.
"""

import re
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
        self._texts: list[tuple[int, str]] = []
        self._bare: list[str] = []

    def add(self, text: str, moment: int) -> None:
        self._texts.append((moment, text))

    def since(self, value: str) -> int | None:
        """The moment of the first text that has the value in any spelling; None: no text has."""
        letters = _bare(value)
        if not _SHORTEST <= len(letters) <= _LONGEST or not any(map(str.isdigit, letters)):
            return None
        self._bare += [_bare(text) for _, text in self._texts[len(self._bare) :]]
        spelled = None
        for (moment, text), bare in zip(self._texts, self._bare, strict=True):
            if letters in bare:
                spelled = spelled or re.compile(_BEFORE + _SEPARATOR.join(letters) + _AFTER)
                if spelled.search(text.casefold()):
                    return moment
        return None


def _bare(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
