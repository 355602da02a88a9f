"""The ways in which programs write one text inside of another: every form in which a secret is searched for.

A form is a sequence of tokens, one for each character or byte of the value. A token is a choice of spellings, so that
any mixture is found: `%73k-%6c`, `\\u0073k`, `&#x73;k`, hexadecimal with separators, base64 with line breaks.
"""

import base64
import html.entities
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote, quote_plus

from harness.cassette.redaction.secret_tokens import Form, Spelling, Token

_LONG_ENOUGH: Final = 8
"""The number of bytes from which an encoded form is unlikely to occur by chance."""

_UNBROKEN: Final = 4
"""The number of initial base64 characters without a search for line breaks: where a line break occurs among them, the
characters after it are found.
"""

BACKSLASHES: Final = rb"\\{1,16}"
_ZEROS: Final = b"0{0,16}"
_SPACES: Final = rb"[ \t\r\n]{1,80}"
_SEPARATORS: Final = rb"""[ \t\r\n:;,.|'"_-]{%d,8}"""
_BETWEEN: Final = rb"""[ \t\r\n,;|'"\\]{1,40}?"""
"""What stands between the characters of a list; as little as will do, since such characters may be in the list."""
_AMBIGUOUS: Final = frozenset("%&\\=")
"""Characters with which their own encodings begin."""
_HEXADECIMAL: Final = re.compile(rf"[0-9a-fA-F-]{{{_LONG_ENOUGH},}}")
"""A key of hexadecimal digits, or a UUID, which programs take and write in either case, with or without hyphens."""
_SOFT_BREAKS: Final = (
    (b"=", b"\r?", b"\n"),
    (b"=", BACKSLASHES, b"n"),
    (b"=", BACKSLASHES, b"r", BACKSLASHES, b"n"),
)
"""Quoted-printable ends every line of 76 characters with it, wherever that is."""
_LETTERS: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v", "\0": "0"}


def forms_of(value: str) -> Iterable[Form]:
    """All forms of a value, with literal forms first."""
    yield _characters(value, raw_first=True)
    if _HEXADECIMAL.fullmatch(value):
        yield tuple(_digit(char, first=at == 0) for at, char in enumerate(value.replace("-", "").lower()))
    if not _AMBIGUOUS.isdisjoint(value):
        yield _characters(value, raw_first=False)
    if not _AMBIGUOUS.isdisjoint(value) or not value.isprintable():
        yield from map(_literal, dict.fromkeys(_written(value)))
    for utf16 in (value.encode("utf-16-be", "surrogatepass"), value.encode("utf-16-le", "surrogatepass")):
        yield tuple(map(_utf16, utf16.strip(b"\0")))
    for utf32 in (value.encode("utf-32-be", "surrogatepass"), value.encode("utf-32-le", "surrogatepass")):
        yield tuple(map(_utf16, utf32.strip(b"\0")))
    raw = value.encode("utf-8", "surrogatepass")
    yield _literal(base64.b64encode(raw))
    if len(raw) >= _LONG_ENOUGH:
        yield tuple(_listed(char, first=at == 0) for at, char in enumerate(value))
        yield from _encoded(raw)


def _encoded(raw: bytes) -> Iterable[Form]:
    """Encodings of bytes in digits and letters, by which a short value would be found by chance."""
    yield tuple(_hexadecimal(byte, first=at == 0) for at, byte in enumerate(raw))
    yield tuple(_decimal(byte, first=at == 0) for at, byte in enumerate(raw))
    yield from _sixtyfour(raw)
    yield from _thirtytwo(raw)
    yield from (_literal(encode(raw)) for encode in (base64.b85encode, base64.a85encode))


def _sixtyfour(raw: bytes) -> Iterable[Form]:
    """Base64 inside a longer text, where it starts at one of three offsets; characters that the neighbours share are
    cut off.
    """
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).rstrip(b"=").decode()
        core = encoded[(0, 2, 3)[offset] : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
        yield from (_base64(core), _base64(core[_UNBROKEN:]))


def _thirtytwo(raw: bytes) -> Iterable[Form]:
    """Base32, alone or inside a longer text, where it starts at one of five offsets."""
    for offset in range(5):
        encoded = base64.b32encode(b"\0" * offset + raw).rstrip(b"=").decode()
        core = encoded[-(-8 * offset // 5) : len(encoded) - (1 if (offset + len(raw)) % 5 else 0)]
        yield tuple(_thirtysecond(char, first=at == 0) for at, char in enumerate(core))


def _characters(value: str, *, raw_first: bool) -> Form:
    last = len(value) - 1
    return tuple(
        _character(char, raw_first=raw_first, follows=at > 0, goes_on=at < last) for at, char in enumerate(value)
    )


def _base64(core: str) -> Form:
    return tuple(_sixtyfourth(char, breaks=at >= _UNBROKEN) for at, char in enumerate(core))


def _written(value: str) -> Iterable[bytes]:
    """Uniform encodings of a value whose characters are also those of the encodings."""
    for plain in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        for text in (plain, plain.replace("/", "\\/"), json.dumps(plain)[1:-1]):
            yield text.encode("utf-8", "surrogatepass")
    for quoted in (quote(value.encode("utf-8", "surrogatepass"), safe=""), quote_plus(value, errors="replace")):
        yield quoted.encode()


def _literal(text: bytes) -> Form:
    return tuple(_single(byte) for byte in text)


@cache
def _single(byte: int) -> Token:
    return Token((_byte(byte),))


@cache
def _utf16(byte: int) -> Token:
    """A byte of UTF-16, including its escaped form in JSON."""
    if byte == 0:
        return Token((_byte(0),), (BACKSLASHES, b"u", b"0", b"0", b"0", b"0"))
    return Token((_byte(byte),), (BACKSLASHES, _byte(byte))) if byte in b'"\\' else _single(byte)


@cache
def _character(char: str, *, raw_first: bool, follows: bool = False, goes_on: bool = False) -> Token:
    """`follows`: a line may end before it; `goes_on`: an escape of it may end with a space."""
    encoded = [_style_sheet(char, goes_on=goes_on), *_escapes(char), *_percent(char), *_entities(char)]
    raw = tuple(map(_byte, char.encode("utf-8", "surrogatepass")))
    if follows:
        encoded += [(*end, *shown) for end in _SOFT_BREAKS for shown in (_quoted_printable(char), raw)]
    spellings = [raw, *encoded] if raw_first else [*encoded, raw]
    if "\x80" <= char <= "\xff":
        spellings.append((_byte(ord(char)),))
    if "\udc80" <= char <= "\udcff":
        spellings.append((_byte(ord(char) - 0xDC00),))
    if char == " ":
        spellings.append((rb"\+",))
    return Token(*spellings)


@cache
def _digit(char: str, *, first: bool) -> Token:
    """A digit of a key that is written in either case, and with or without the hyphens of a UUID."""
    raw = f"[{char}{char.upper()}]".encode() if char.isalpha() else char.encode()
    return Token((raw,)) if first else Token((raw,), (b"-", raw))


def _escapes(char: str) -> Iterable[Spelling]:
    """Escapes in strings of programming languages and of JSON, also in a string inside of a string."""
    code, raw = ord(char), char.encode("utf-8", "surrogatepass")
    units = char.encode("utf-16-be", "surrogatepass")
    yield tuple(
        piece
        for at in range(0, len(units), 2)
        for piece in (BACKSLASHES, b"u", *_digits(int.from_bytes(units[at : at + 2], "big"), 4))
    )
    yield (BACKSLASHES, b"u", rb"\{", _ZEROS, *_digits(code, 0), rb"\}")
    yield (BACKSLASHES, b"U", *_digits(code, 8))
    yield tuple(piece for byte in raw for piece in (BACKSLASHES, b"[xX]", *_digits(byte, 2)))
    yield tuple(piece for byte in raw for piece in (BACKSLASHES, *(b"%d" % int(digit) for digit in f"{byte:03o}")))
    if 0x80 <= code <= 0xFF:
        yield (BACKSLASHES, b"[xX]", *_digits(code, 2))
    if char in _LETTERS:
        yield (BACKSLASHES, _LETTERS[char].encode())
    elif char.isascii() and not char.isalnum():
        yield (BACKSLASHES, _byte(code))


def _percent(char: str) -> Iterable[Spelling]:
    """Percent-encoded once, twice or three times, and quoted-printable."""
    raw = char.encode("utf-8", "surrogatepass")
    for mark in ((b"%", b"2", b"5", b"2", b"5"), (b"%", b"2", b"5"), (b"%",)):
        yield tuple(piece for byte in raw for piece in (*mark, *_digits(byte, 2)))
    yield _quoted_printable(char)
    units = char.encode("utf-16-be", "surrogatepass")
    yield tuple(
        piece
        for at in range(0, len(units), 2)
        for piece in (b"%", b"[uU]", *_digits(int.from_bytes(units[at : at + 2], "big"), 4))
    )


def _style_sheet(char: str, *, goes_on: bool) -> Spelling:
    """An escape of style sheets, which a space may end, and of LDAP."""
    return (BACKSLASHES, b"0{0,4}", *_digits(ord(char), 0), *((rb"\s?",) if goes_on else ()))


def _quoted_printable(char: str) -> Spelling:
    return tuple(piece for byte in char.encode("utf-8", "surrogatepass") for piece in (b"=", *_digits(byte, 2)))


def _entities(char: str) -> Iterable[Spelling]:
    """HTML's and XML's, also where their ampersand was escaped once more, with and without the semicolon."""
    code = ord(char)
    numbers: list[Spelling] = [
        (b"\\#", _ZEROS, *(b"%d" % int(digit) for digit in str(code))),
        (b"\\#", b"[xX]", _ZEROS, *_digits(code, 0)),
    ]
    named: list[Spelling] = [tuple(map(_byte, name.encode())) for name in _names().get(char, ())]
    for ampersand in ((b"&", b"a", b"m", b"p", b";"), (b"&",)):
        for one in [*numbers, *named]:
            yield (*ampersand, *one, b";?")


@cache
def _names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, char in html.entities.html5.items():
        if name.endswith(";") and len(char) == 1:
            found.setdefault(char, []).append(name.rstrip(";"))
    return {char: sorted(names, key=len, reverse=True) for char, names in found.items()}


@cache
def _hexadecimal(byte: int, *, first: bool) -> Token:
    """`73`, and after the first byte also ` 73`, `:73`, `, 0x73`, `\\x73`."""
    digits = _digits(byte, 2)
    if first:
        return Token(tuple(digits))
    any_separators, some = _SEPARATORS % 0, _SEPARATORS % 1
    return Token(
        tuple(digits),
        (some, *digits),
        (any_separators, b"0", b"[xX]", *digits),
        (any_separators, BACKSLASHES, b"x", *digits),
        (BACKSLASHES, b"[nrt]", *digits),
        (any_separators, b"%", *digits),
    )


@cache
def _decimal(byte: int, *, first: bool) -> Token:
    """`115`, and after the first byte ` 107`, `,107`, `, 107`: buffers, as programs print them."""
    digits = tuple(b"%d" % int(digit) for digit in str(byte))
    return Token(digits if first else (_SEPARATORS % 1, *digits))


@cache
def _listed(char: str, *, first: bool) -> Token:
    """`"s"`, and after the first character also `, "k"`: texts that are given as lists of their characters."""
    spellings = _character(char, raw_first=True).spellings
    return Token(*spellings) if first else Token(*((_BETWEEN, *one) for one in spellings))


@cache
def _thirtysecond(char: str, *, first: bool) -> Token:
    """A character of base32 in either case, possibly after a line break."""
    raw = f"[{char}{char.lower()}]".encode() if char.isalpha() else char.encode()
    return Token((raw,)) if first else Token((raw,), (_SPACES, raw), (BACKSLASHES, b"n", raw))


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
