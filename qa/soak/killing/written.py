"""What a process changes on a disk, and when it has it flushed: noted by who watches the process, one line a change."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR


class Notes:
    """Of everything below `root`."""

    def __init__(self, log: Path, root: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._root = root
        self._flush = os.fsync

    def begin(self) -> None:
        """From now on, in this process: it tells of names by itself, and of flushes by way of us."""
        os.fsync = self._flushed
        sys.addaudithook(self._changed)

    def _changed(self, event: str, values: tuple[Any, ...]) -> None:
        match event:
            case "open" if isinstance(values[0], str) and isinstance(values[2], int) and values[2] & _WRITING:
                self._note("open", Path(values[0]).absolute())
            case "os.rename":
                self._note("rename", _absolute(values[0], values[2]), _absolute(values[1], values[3]))
            case "os.mkdir":
                self._note("mkdir", _absolute(values[0], values[2]))
            case "os.rmdir" | "os.remove":
                path = _absolute(values[0], values[1])
                self._note("remove", path, content=path.read_bytes() if path.is_file() else None)

    def _flushed(self, file: Any) -> None:
        self._flush(file)
        path = Path(f"/proc/self/fd/{file if isinstance(file, int) else file.fileno()}").readlink()
        self._note("flush", path, content=None if path.is_dir() else path.read_bytes())

    def _note(self, change: str, *paths: Path, content: bytes | None = None) -> None:
        if all(path.is_relative_to(self._root) for path in paths):
            inside = [str(path.relative_to(self._root)) for path in paths]
            text = None if content is None else base64.b64encode(content).decode()
            os.write(self._log, (json.dumps([change, *inside, text]) + "\n").encode())


def _absolute(path: Any, folder: int) -> Path:
    text = os.fsdecode(path)
    return Path(text).absolute() if folder < 0 else Path(f"/proc/self/fd/{folder}").readlink() / text
