"""A copy of a stored snapshot under another name, its dumps changed."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.sandbox.capture import SNAPSHOT_FILE, read_snapshot_file
from harness.sandbox.snapshot import Snapshot


def copy_snapshot(folder: Path, name: str, dumps: Mapping[str, tuple[str, str]]) -> Snapshot:
    """Copies the snapshot in `folder` beside it.

    `dumps`: service -> a text in its dump, and what replaces it.
    """
    snapshot, made = read_snapshot_file(folder), folder.parent / name
    shutil.copytree(folder, made)
    changed = []
    for dump in snapshot.dumps:
        path = made / "dumps" / dump.file
        before, after = dumps.get(dump.service, ("", ""))
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after, 1) if before else text, encoding="utf-8")
        changed.append(dump.model_copy(update={"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))
    copied = snapshot.model_copy(update={"name": name, "dumps": tuple(changed)})
    (made / SNAPSHOT_FILE).write_text(json.dumps({"digest": copied.digest, "snapshot": copied.plain()}))
    return read_snapshot_file(made)
