"""Values that must be found nowhere, the forms in which they might be, and the places that are searched."""

import base64
import gzip
import html
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

CHANNELS = {
    "HEADER_KEY": 'can4ry/+"tool ret=é&0815',
    "MODEL_KEY": "sk-can4ry-model/0815+4711",
    "PROGRAM_KEY": "pr0gram-can4ry-é&<0815>",
    "HOST_KEY": "h0st-can4ry=/0815 4711",
    "JUDGE_KEY": "sk-can4ry-judge_0815~4711",
    "GITHUB_TOKEN": "ghp_can4ryTracker08154711",
    "LANGFUSE_SECRET_KEY": "sk-lf-can4ry-0815-4711",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-can4ry-0815-4711",
    "COLLECTOR_KEY": "c0llector-can4ry-08154711",
}
"""Environment variable -> its value: one for each way in which a secret comes to the harness."""
UNDECLARED = "not-declared-can4ry-0815"
"""What is told everywhere too, and nobody has called a secret: the control, to be found wherever is searched."""


def forms(value: str) -> dict[str, bytes]:
    """How an echo may write it: name of the form -> the bytes."""
    raw = value.encode()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in value)
    written, packed = json.dumps(value)[1:-1], base64.b64encode(raw)
    return {
        "plain": raw,
        "hexadecimal": raw.hex().encode(),
        "hexadecimal in capitals": raw.hex().upper().encode(),
        "base64": packed,
        "base64 for addresses": base64.urlsafe_b64encode(raw),
        "percent": quote(value, safe="").encode(),
        "percent, slashes kept": quote(value).encode(),
        "percent, small letters": re.sub(r"%..", lambda found: found.group().lower(), quote(value, safe="")).encode(),
        "a form's": quote_plus(value).encode(),
        "percent throughout": "".join(f"%{byte:02X}" for byte in raw).encode(),
        "JSON": written.encode(),
        "JSON in JSON": json.dumps(written)[1:-1].encode(),
        "JSON, slashes escaped": written.replace("/", "\\/").encode(),
        "escapes": escaped.encode(),
        "HTML": html.escape(value).encode(),
        "HTML, decimal": "".join(f"&#{ord(letter)};" for letter in value).encode(),
        "HTML, hexadecimal": "".join(f"&#x{ord(letter):X};" for letter in value).encode(),
        "percent throughout, small letters": "".join(f"%{byte:02x}" for byte in raw).encode(),
        "base64 in lines": b"\r\n".join(packed[at : at + 12] for at in range(0, len(packed), 12)),
    }


def shown(text: str) -> str:
    """All forms of a value in one text, each in a line of its own."""
    lines = [form.decode() for form in forms(text).values()]
    return "\n".join([*lines, base64.b64encode(b"x" + text.encode() + b"yy").decode()])


def found_in(places: Iterator[tuple[str, bytes]], values: dict[str, str]) -> list[str]:
    """Where a value stands, in which form."""
    wanted = [(name, form, look) for name, value in values.items() for form, look in forms(value).items()]
    wanted += [(name, "base64 in more", base64.b64encode(b"x" + one.encode())[4:20]) for name, one in values.items()]
    return [
        f"{name} ({form}) in {place}" for place, content in places for name, form, look in wanted if look in content
    ]


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's name and bytes, and what is packed in it."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield str(path), str(path.readlink()).encode("utf-8", "surrogateescape")
        elif path.is_file():
            yield from unpacked(str(path), path.read_bytes())


def unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, content + name.encode("utf-8", "surrogateescape")
    if content[:2] == b"\x1f\x8b":
        yield from unpacked(name + "!", gzip.decompress(content))
    elif zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from unpacked(f"{name}!{member}", archive.read(member))
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                stream = archive.extractfile(entry) if entry.isfile() else None
                yield from unpacked(f"{name}!{entry.name}>{entry.linkname}", b"" if stream is None else stream.read())
