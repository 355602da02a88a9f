"""A secret is found in whatever spelling a program, a page or a dump has of it; other text of its kind is kept."""

import base64
import html
import json
import random
import time
from collections.abc import Callable

import pytest

from harness.cassettes.redacted_streams import RedactedStream
from harness.cassettes.redaction import Redactor
from tests.cassettes.streaming import cut, passed

SECRET = "sk-l1ve/+\"ä&<0815>'=%41 \\Wert"
OTHER = "xx-t3st/+\"ö&<0816>'=%42 \\Preis"
Spell = Callable[[str], str]


def _bytes(spell: Callable[[int], str], between: str = "") -> Spell:
    return lambda text: between.join(spell(byte) for byte in text.encode())


def _chars(spell: Callable[[str], str]) -> Spell:
    return lambda text: "".join(map(spell, text))


def _lines(text: str, width: int, end: str) -> str:
    return end.join(text[at : at + width] for at in range(0, len(text), width))


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPELLINGS: dict[str, Spell] = {
    "percent, every byte, capitals": _bytes(lambda byte: f"%{byte:02X}"),
    "percent, every byte, small letters": _bytes(lambda byte: f"%{byte:02x}"),
    "percent, some": _chars(lambda char: char if char.isalnum() and char.isascii() else _bytes("%{:02x}".format)(char)),
    "unicode escapes, small letters": _chars(lambda char: f"\\u{ord(char):04x}"),
    "unicode escapes, capitals": _chars(lambda char: f"\\u{ord(char):04X}"),
    "unicode escapes in a string in a string": _chars(lambda char: f"\\\\u{ord(char):04x}"),
    "unicode escapes of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/").replace("&", "\\u0026"),
    "unicode escapes of Go": lambda text: _chars(lambda c: f"\\u{ord(c):04x}" if c in "<>&" else c)(_json(text)),
    "unicode escapes of Java": _chars(lambda c: c if c.isalnum() and c.isascii() else f"\\u{ord(c):04X}"),
    "JSON": _json,
    "JSON in JSON": lambda text: _json(_json(text)),
    "JSON in JSON in JSON": lambda text: _json(_json(_json(text))),
    "HTML, decimal": _chars(lambda char: f"&#{ord(char)};"),
    "HTML, decimal, zeros before": _chars(lambda char: f"&#{ord(char):07d};"),
    "HTML, decimal, no semicolon": _chars(lambda char: f"&#{ord(char)}"),
    "HTML, hexadecimal": _chars(lambda char: f"&#x{ord(char):x};"),
    "HTML, hexadecimal, capitals and zeros": _chars(lambda char: f"&#X{ord(char):06X};"),
    "HTML, hexadecimal, no semicolon": _chars(lambda char: f"&#x{ord(char):04x}"),
    "HTML, names": _chars(lambda c: {"/": "&sol;", "+": "&plus;", "=": "&equals;"}.get(c, html.escape(c))),
    "base64, 76 to a line": lambda text: base64.encodebytes(b"y" * 50 + text.encode()).decode(),
    "base64, 64 to a line": lambda text: _lines(_base64("y" * 40 + text), 64, "\r\n"),
    "base64, 16 to a line, indented": lambda text: _lines(_base64(text), 16, "\n        "),
    "base64, lines in a JSON text": lambda text: _lines(_base64(text), 20, "\\n"),
    "base64, every offset: 1": lambda text: _base64("y" + text),
    "base64, every offset: 2": lambda text: _base64("yy" + text),
    "base64, URL alphabet": lambda text: _base64(text).translate(str.maketrans("+/", "-_")).rstrip("="),
    "base64, URL alphabet, lines": lambda text: _lines(_base64(text).translate(str.maketrans("+/", "-_")), 24, "\n"),
    "base64, percent": lambda text: _base64(text).replace("+", "%2b").replace("/", "%2F").replace("=", "%3D"),
    "base64, slashes escaped": lambda text: _base64(text).replace("/", "\\/"),
    "hexadecimal": _bytes("{:02x}".format),
    "hexadecimal, capitals": _bytes("{:02X}".format),
    "HTML, decimal, many zeros before": _chars(lambda char: f"&#{ord(char):015d};"),
    "a mixture": lambda text: "".join(
        random.Random(5).choice([f"%{ord(c):02x}", f"&#{ord(c)};", f"\\u{ord(c):04x}", c]) if c.isascii() else c
        for c in text
    ),
}


def spelled(name: str, text: str) -> str:
    return SPELLINGS[name](text)


def redactor() -> Redactor:
    return Redactor({"KEY": SECRET})


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_is_found_in_every_spelling_and_other_text_in_the_same_spelling_is_kept(name: str) -> None:
    text = f"before {spelled(name, SECRET)} after"

    assert "KEY" == redactor().left_in([text])
    clean = redactor().text(text)
    assert "<secret:KEY>" in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert None is redactor().left_in([clean])

    control = f"before {spelled(name, OTHER)} after"
    assert control == redactor().text(control)


@pytest.mark.parametrize("name", SPELLINGS)
def test_it_is_found_in_a_stream_of_single_bytes_and_in_a_value(name: str) -> None:
    text = f"before {spelled(name, SECRET)} after"
    stream = RedactedStream(redactor())

    assert redactor().text(text).encode() == passed(stream, cut(text.encode(), 1))
    value = redactor().value({"a": [text]})
    assert value == {"a": [redactor().text(text)]}
    assert b"<secret:KEY>" in redactor().for_agent(json.dumps({"a": text}).encode())
    assert b"<secret:KEY>" in redactor().body(json.dumps({"a": text}).encode())


def test_a_long_secret_is_found_and_a_text_that_only_begins_like_it_is_kept() -> None:
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + _lines(_base64("0123456789" * 300), 64, "\n")
        + "\n-----END PRIVATE KEY-----\n"
    )
    known = Redactor({"PEM": key})

    assert "<secret:PEM>" == known.text(_json(key))
    assert "a <secret:PEM>" == known.text(f"a {key}")
    assert key[:2000] == known.text(key[:2000])


def _search_s(piece: str, length: int) -> float:
    """The processor's time for a search of that much text, whole and as a stream."""
    known = Redactor({"KEY": SECRET, "SAME": "aaaaaaaaaaaaaaaab", "HEX": "\0\0\0\0\0\0\0\0\0\x01"})
    text = (piece * length)[:length].encode()
    began = time.process_time()
    known.content(text)
    passed(RedactedStream(known), cut(text, 1000))
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["\\", "\\\\u", "%25", "&#0", "0", "a", "&amp;", "c2st\n"])
def test_text_made_to_be_slow_to_search_is_not(piece: str) -> None:
    _search_s(piece, 1_000)  # the expressions are compiled once
    # A search that began anew at each character would take 64 times as long for 8 times the text.
    assert _search_s(piece, 120_000) < 24 * max(0.02, min(_search_s(piece, 15_000) for _ in range(2)))


@pytest.mark.parametrize(("before", "kept"), [("", 0), ("y", 2), ("yy", 3)])
def test_no_character_of_a_secret_in_base64_is_left_where_it_ends_a_group(before: str, kept: int) -> None:
    """Characters that it shares with the text before it are kept, and no others."""
    secret = "sk-live-0815-abcde"[len(before) :]
    written = _base64(before + secret)
    assert f"{written[:kept]}<secret:KEY>" == Redactor({"KEY": secret}).text(written)


def test_a_secret_is_found_by_the_names_that_html_has_for_its_characters() -> None:
    redactor = Redactor({"KEY": "tok.en_9931/zz+81"})
    for spelled in ("tok&period;en&lowbar;9931&sol;zz&plus;81", "tok&#46;en&#x5f;9931/zz&plus;81"):
        assert spelled not in redactor.everywhere(f"before {spelled} after")
    assert "tok&comma;en&lowbar;9931" in redactor.everywhere("before tok&comma;en&lowbar;9931 after")
