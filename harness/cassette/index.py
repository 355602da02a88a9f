"""A derived copy of a big YAML tape that opens in a fraction of the time; the tape stays the only truth.

It lies in the project's `.harness/index/`, names the digest of the tape that it was made of, and is made anew wherever
anything about it does not fit: another tape, another version of this harness, a cut or changed file. It is put in place
at once, so several processes may make it at the same time. Deleting it costs one slow opening.
"""

import hashlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.cassette.recording import Recording
from harness.cassette.tape import Tape, load_tape
from harness.documents import write_atomically

_FORMAT = b"harness tape index 1"
_WORTH_BYTES = 128 * 1024
"""A smaller tape opens in less than a tenth of a second as it is."""

_RECORDINGS: TypeAdapter[tuple[Recording, ...]] = TypeAdapter(tuple[Recording, ...])


def open_tape(path: Path) -> Tape:
    """As `load_tape`, by way of the index where that is worth it."""
    try:
        worth = path.suffix != ".json" and path.stat().st_size >= _WORTH_BYTES
        digest = _digest(path.read_bytes()) if worth else b""
    except OSError:
        worth, digest = False, b""  # `load_tape` says what is wrong with it
    if not worth:
        return load_tape(path)
    index = index_path(path)
    known = _read(index, digest)
    if known is not None:
        return Tape(known)
    tape = load_tape(path)
    _write(index, digest, tape)
    return tape


def index_path(path: Path) -> Path:
    """Where the index of a tape lies; one for each tape, so that what a changed tape had does not stay behind."""
    suite = path.absolute().parent
    return suite.parent.parent / ".harness" / "index" / suite.name / f"{path.name}.index"


def _read(index: Path, digest: bytes) -> tuple[Recording, ...] | None:
    """What the index holds; None where it is not the tape's, or not whole."""
    try:
        form, tape, own, content = index.read_bytes().split(b"\n", 3)
    except (OSError, ValueError):
        return None
    if (form, tape, own) != (_FORMAT, digest, _digest(content)):
        return None
    try:
        return _RECORDINGS.validate_json(content)
    except ValidationError:
        return None


def _write(index: Path, digest: bytes, tape: Tape) -> None:
    content = _RECORDINGS.dump_json(tape.recordings)
    try:
        write_atomically(index, b"\n".join((_FORMAT, digest, _digest(content), content)))
    except OSError:
        return  # a project that cannot be written to opens its tapes the slow way


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
