"""The forms in which a secret is searched for: as it is, with escapes of JSON and HTML, percent-encoded, in base64, and
in hexadecimal.

A form is a sequence of tokens, one for each character or byte of the value. A token is a choice of spellings, so that
a mixture is found too: `%73k-%6c`, `\\u0073k`, `&#x73;k`, base64 with line breaks.
"""

import base64
import html.entities
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Final
from urllib.parse import quote, quote_plus

_LONG_ENOUGH: Final = 8
"""The number of bytes from which an encoded form is unlikely to occur by chance."""

_UNBROKEN: Final = 4
"""The number of initial base64 characters without a search for line breaks: if a line break occurs among them, the
characters after it are found.
"""

BACKSLASHES: Final = rb"\\{1,16}"
"""JSON in JSON doubles them at each level."""
_ZEROS: Final = b"0{0,16}"
_SPACES: Final = rb"[ \t\r\n]{1,80}"
_AMBIGUOUS: Final = frozenset("%&\\")
"""Characters with which their own encodings begin."""
_LETTERS: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_REPEATED: Final = re.compile(rb"\{\d,(\d+)\}\Z")

Spelling = tuple[bytes, ...]
"""A regular expression in pieces, each of which takes one byte or repeats one."""


class Token:
    """One character or byte of a secret, in all its spellings."""

    def __init__(self, *spellings: Spelling) -> None:
        self.spellings = spellings
        self.width = max(sum(map(_width, one)) for one in spellings)
        """Bytes of the longest spelling."""

    @cached_property
    def whole(self) -> re.Pattern[bytes]:
        """Matches any spelling."""
        return re.compile(b"|".join(map(b"".join, self.spellings)))


Form = tuple[Token, ...]


def forms_of(value: str) -> Iterable[Form]:
    """All forms of a value, with literal forms first."""
    yield tuple(_character(char, raw_first=True) for char in value)
    if not _AMBIGUOUS.isdisjoint(value):
        yield tuple(_character(char, raw_first=False) for char in value)
        yield from map(_literal, dict.fromkeys(_uniform_encodings(value)))
    raw = value.encode("utf-8", "surrogatepass")
    yield _literal(base64.b64encode(raw))
    if len(raw) >= _LONG_ENOUGH:
        yield tuple(map(_hexadecimal, raw))
        yield from _sixtyfour(raw)


def _sixtyfour(raw: bytes) -> Iterable[Form]:
    """Base64 inside a longer text, if it starts at one of three offsets; characters that the neighbours share are
    cut off.
    """
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).rstrip(b"=").decode()
        core = encoded[(0, 2, 3)[offset] : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
        yield from (_base64(core), _base64(core[_UNBROKEN:]))


def _base64(core: str) -> Form:
    return tuple(_sixtyfourth(char, breaks=at >= _UNBROKEN) for at, char in enumerate(core))


def _uniform_encodings(value: str) -> Iterable[bytes]:
    """Uniform encodings of a value whose characters are also those of the encodings."""
    for plain in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        for text in (plain, plain.replace("/", "\\/"), json.dumps(plain)[1:-1]):
            yield text.encode("utf-8", "surrogatepass")
    for quoted in (quote(value.encode("utf-8", "surrogatepass"), safe=""), quote_plus(value, errors="replace")):
        yield quoted.encode()


def _literal(text: bytes) -> Form:
    return tuple(map(_single, text))


@cache
def _single(byte: int) -> Token:
    return Token((_byte(byte),))


@cache
def _character(char: str, *, raw_first: bool) -> Token:
    encoded = [*_escapes(char), _percent(char), *_entities(char)]
    raw = tuple(map(_byte, char.encode("utf-8", "surrogatepass")))
    spellings = [raw, *encoded] if raw_first else [*encoded, raw]
    if "\udc80" <= char <= "\udcff":
        spellings.append((_byte(ord(char) - 0xDC00),))
    if char == " ":
        spellings.append((rb"\+",))
    return Token(*spellings)


def _escapes(char: str) -> Iterable[Spelling]:
    """Escapes of JSON, also in a string inside of a string."""
    units = char.encode("utf-16-be", "surrogatepass")
    yield tuple(
        piece
        for at in range(0, len(units), 2)
        for piece in (BACKSLASHES, b"u", *_digits(int.from_bytes(units[at : at + 2], "big"), 4))
    )
    if char in _LETTERS:
        yield (BACKSLASHES, _LETTERS[char].encode())
    elif char in '"\\/':
        yield (BACKSLASHES, _byte(ord(char)))


def _percent(char: str) -> Spelling:
    return tuple(piece for byte in char.encode("utf-8", "surrogatepass") for piece in (b"%", *_digits(byte, 2)))


def _entities(char: str) -> Iterable[Spelling]:
    """HTML's and XML's, with and without the semicolon."""
    code = ord(char)
    yield (b"&", b"\\#", _ZEROS, *(b"%d" % int(digit) for digit in str(code)), b";?")
    yield (b"&", b"\\#", b"[xX]", _ZEROS, *_digits(code, 0), b";?")
    for name in _names().get(char, ()):
        yield (b"&", *map(_byte, name.encode()), b";?")


@cache
def _names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, char in html.entities.html5.items():
        if name.endswith(";") and len(char) == 1:
            found.setdefault(char, []).append(name.rstrip(";"))
    return {char: sorted(names, key=len, reverse=True) for char, names in found.items()}


@cache
def _hexadecimal(byte: int) -> Token:
    return Token(tuple(_digits(byte, 2)))


@cache
def _sixtyfourth(char: str, *, breaks: bool) -> Token:
    """A character of either alphabet of base64, possibly after a line break."""
    other = {"+": "+-", "/": "/_"}.get(char, char)
    spelled = [one for char in other for one in (_character(char, raw_first=True).spellings if len(other) > 1 else ())]
    plain: list[Spelling] = spelled or [(_byte(ord(char)),)]
    if not breaks:
        return Token(*plain)
    broken: tuple[Spelling, ...] = (
        (),
        (_SPACES,),
        (BACKSLASHES, b"n"),
        (BACKSLASHES, b"r", BACKSLASHES, b"n"),
        (BACKSLASHES, b"n", _SPACES),
        (b"%", b"0", b"[aA]"),
        (b"%", b"0", b"[dD]", b"%", b"0", b"[aA]"),
    )
    return Token(*((*before, *one) for before in broken for one in plain))


def _digits(number: int, width: int) -> Sequence[bytes]:
    """Hexadecimal digits of either case."""
    digits = f"{number:0{width}x}" if width else f"{number:x}"
    return [f"[{digit}{digit.upper()}]".encode() if digit.isalpha() else digit.encode() for digit in digits]


def _byte(byte: int) -> bytes:
    return re.escape(bytes([byte]))


def _width(piece: bytes) -> int:
    found = _REPEATED.search(piece)
    return int(found[1]) if found else 1
