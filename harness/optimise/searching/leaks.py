"""Recognises texts that quote the cases that an optimisation is measured by."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

QUOTED_WORDS: Final = 8
"""So many words in a row, all of them in one case, are a quotation."""
SHORTEST: Final = 5
"""Words of a message that is a quotation as a whole; shorter ones are said everywhere."""
_WORD: Final = re.compile(r"[^\W_]+")
_SPEAKING_ID: Final = re.compile(r"(?=.*[\d-]).{5,}")


class QuotationCheck:
    """Finds quotations of cases in a text that the texts in use do not hold already."""

    def __init__(self, cases: Mapping[str, Sequence[str]], known: Iterable[str], training: Iterable[str] = ()) -> None:
        """`cases` maps the id of a case that must not be quoted to what is said in it; `known` are the texts in use.
        `training`: what is said in cases that a reflector is shown, which is no quotation of others that say the same.
        """
        texts, training = tuple(known), tuple(training)
        in_use = {piece for text in (*texts, *training) for piece in _pieces(text)}
        shown = {tuple(_words(text)) for text in training}
        self._ids = [case for case in cases if _SPEAKING_ID.fullmatch(case)]
        self._pieces = {
            piece: case
            for case, said in cases.items()
            for text in said
            for piece in _pieces(text)
            if piece not in in_use
        }
        whole = {words: case for case, said in cases.items() for text in said if (words := tuple(_words(text)))}
        short = {words: case for words, case in whole.items() if SHORTEST <= len(words) < QUOTED_WORDS}
        self._short = {
            words: case
            for words, case in short.items()
            if words not in shown and not any(words in _pieces(text, len(words)) for text in texts)
        }
        self._lengths = sorted({len(words) for words in self._short})

    def quoted(self, text: str) -> str | None:
        """The id of a case that the text names or quotes; None where it does neither."""
        named = next((case for case in self._ids if case in text), None)
        if named is not None:
            return named
        quoted = next((self._pieces[piece] for piece in _pieces(text) if piece in self._pieces), None)
        if quoted is not None:
            return quoted
        short = (piece for length in self._lengths for piece in _pieces(text, length))
        return next((self._short[piece] for piece in short if piece in self._short), None)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pieces(text: str, length: int = QUOTED_WORDS) -> Iterator[tuple[str, ...]]:
    words = _words(text)
    return (tuple(words[place : place + length]) for place in range(len(words) - length + 1))
