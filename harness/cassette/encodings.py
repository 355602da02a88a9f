"""How programs write one text inside of another: every form in which a secret is looked for."""

import base64
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

_LONG_ENOUGH = 8
"""Bytes from which on an encoded form is no longer likely to stand somewhere by chance."""


def forms_of(value: str) -> Iterable[str]:
    """The value as it stands, and as encodings would show it."""
    yield value
    yield from _escaped(value)
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found.group().lower(), quoted)
    raw = value.encode("utf-8", "surrogatepass")
    if len(raw) >= _LONG_ENOUGH:
        yield raw.hex()
        yield raw.hex().upper()
        yield "".join(f"%{byte:02X}" for byte in raw)
        for offset in range(3):
            # Inside a longer text the encoding starts at one of three offsets; characters that the neighbours
            # share are cut off.
            encoded = base64.b64encode(b"\0" * offset + raw).rstrip(b"=").decode()
            core = encoded[(0, 2, 3)[offset] : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
            yield core
            yield core.replace("+", "-").replace("/", "_")
    yield base64.b64encode(raw).decode()


def _escaped(value: str) -> Iterable[str]:
    """As texts inside of texts show it: JSON, also in JSON and with the slash escaped, HTML, and escapes throughout."""
    for told in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield told
        yield told.replace("/", "\\/")
        yield json.dumps(told)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    units = value.encode("utf-16-be", "surrogatepass")
    pairs = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    yield "".join(f"\\u{pair}" for pair in pairs)
    yield "".join(f"\\u{pair.upper()}" for pair in pairs)
    yield units.lstrip(b"\0").decode("utf-8", "surrogateescape")  # UTF-16, one order and the other
    yield value.encode("utf-16-le", "surrogatepass").rstrip(b"\0").decode("utf-8", "surrogateescape")
