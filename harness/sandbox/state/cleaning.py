"""Removes from an end state what must not be stored; the archive is rewritten where something in it changes."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.sandbox.state.endstate import open_end_state
from harness.trace import EndState, FileChange

Clean = Callable[[bytes], bytes]
_HEAD = "end_state.json"


def clean_end_state(archive: Path, clean: Clean) -> EndState:
    """Applies `clean` to every file, path and link; sizes and digests are of what is stored.

    The archive stays as it is, byte for byte, where nothing changes. Raises SandboxError where it cannot be read.
    """
    with open_end_state(archive) as opened:
        contents = {change.path: opened.content(change.path) for change in opened.state.changes if change.sha256}
        cleaned = {path: None if content is None else clean(content) for path, content in contents.items()}
        before = opened.state
    after = before.model_copy(
        update={"changes": tuple(_cleaned(change, cleaned.get(change.path), clean) for change in before.changes)}
    )
    if after != before:
        _rewrite(archive, {_text(clean, path): content for path, content in cleaned.items()}, after)
    return after


def _cleaned(change: FileChange, content: bytes | None, clean: Clean) -> FileChange:
    plain: dict[str, object] = {
        "path": _text(clean, change.path),
        "link": None if change.link is None else _text(clean, change.link),
    }
    if content is not None:
        plain |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return change.model_copy(update=plain)


def _text(clean: Clean, text: str) -> str:
    return clean(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _rewrite(archive: Path, contents: dict[str, bytes | None], state: EndState) -> None:
    modes = {change.path: change.mode or 0 for change in state.changes}
    head = json.dumps(state.model_dump(mode="json"), ensure_ascii=True, sort_keys=True, indent=1).encode()
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        written = Path(folder) / archive.name
        with tarfile.open(written, "w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as tar:
            _add(tar, _HEAD, head, 0o644)
            for path in sorted(contents):
                content = contents[path]
                if content is not None:
                    _add(tar, f"files{path}", content, modes[path])
        written.replace(archive)


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    tar.addfile(entry, io.BytesIO(content))
