"""A derived copy of a large YAML cassette that opens in a fraction of the time; the cassette remains authoritative.

It is stored in the project's `.harness/index/`, contains the digest of its cassette, and is rebuilt wherever it does
not match: another cassette, another version of this harness, a truncated or changed file. It is written atomically, so
that several processes may build it at the same time. Deleting it costs one slow load.
"""

import hashlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.cassette.cassette import Cassette, load_cassette
from harness.cassette.recording import Recording
from harness.documents import write_atomically

_FORMAT = b"harness cassette index 1"
_WORTH_BYTES = 128 * 1024
"""The size from which an index is worth it: a smaller cassette opens in less than a tenth of a second without one."""

_RECORDINGS: TypeAdapter[tuple[Recording, ...]] = TypeAdapter(tuple[Recording, ...])


def open_cassette(path: Path) -> Cassette:
    """Loads a cassette as `load_cassette` does, through the index where the cassette is large enough."""
    try:
        worth = path.suffix != ".json" and path.stat().st_size >= _WORTH_BYTES
        digest = _digest(path.read_bytes()) if worth else b""
    except OSError:
        worth, digest = False, b""  # `load_cassette` reports the error
    if not worth:
        return load_cassette(path)
    index = index_path(path)
    known = _read(index, digest)
    if known is not None:
        return Cassette(known)
    cassette = load_cassette(path)
    _write(index, digest, cassette)
    return cassette


def index_path(path: Path) -> Path:
    """The path of a cassette's index. Each cassette has one index, so that the index of an old version is replaced."""
    suite = path.absolute().parent
    return suite.parent.parent / ".harness" / "index" / suite.name / f"{path.name}.index"


def _read(index: Path, digest: bytes) -> tuple[Recording, ...] | None:
    """The content of the index; None where it belongs to another cassette, or is truncated."""
    try:
        form, cassette, own, content = index.read_bytes().split(b"\n", 3)
    except (OSError, ValueError):
        return None
    if (form, cassette, own) != (_FORMAT, digest, _digest(content)):
        return None
    try:
        return _RECORDINGS.validate_json(content)
    except ValidationError:
        return None


def _write(index: Path, digest: bytes, cassette: Cassette) -> None:
    content = _RECORDINGS.dump_json(cassette.recordings)
    try:
        write_atomically(index, b"\n".join((_FORMAT, digest, _digest(content), content)))
    except OSError:
        return  # a read-only project opens its cassettes without an index


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
