"""A disk that loses its power: what was flushed is there, of the rest any part may be.

A file that was not flushed may be empty, cut off, zeros, or whole. What was made, renamed or removed in a folder since
it was flushed may have happened or not, each change by itself: no file system is as bad as this all the time.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from random import Random


@dataclass(frozen=True)
class Change:
    """A line of what `written.Notes` notes."""

    kind: str
    path: PurePath
    to: PurePath | None = None
    content: bytes | None = None


@dataclass(eq=False)
class _Node:
    is_folder: bool
    entries: dict[str, "_Node"] = field(default_factory=dict)
    flushed: dict[str, "_Node"] = field(default_factory=dict)
    pending: "list[tuple[_Entry, ...]]" = field(default_factory=list)
    written: bytes = b""
    safe: bytes | None = None

    def put(self, *changes: "_Entry") -> None:
        """Changes that happen at once, such as the two of a rename."""
        for name, node in changes:
            if node is None:
                self.entries.pop(name, None)
            else:
                self.entries[name] = node
        self.pending.append(changes)

    def flush(self) -> None:
        self.flushed, self.pending = dict(self.entries), []


_Entry = tuple[str, _Node | None]
"""What a name in a folder leads to from then on; None: to nothing."""


def changes_in(log: Path) -> Iterator[Change]:
    """In the order in which they happened."""
    for line in log.read_text(encoding="utf-8").splitlines():
        kind, *paths, text = json.loads(line)
        places = [PurePath(path) for path in paths]
        content = None if text is None else base64.b64decode(text)
        yield Change(kind, places[0], places[1] if len(places) > 1 else None, content)


class Disk:
    """Begins with what lies in `root`, all of it flushed."""

    def __init__(self, root: Path) -> None:
        self._root = _known(root)

    def apply(self, change: Change, last: Path) -> None:
        """`last`: where the folder is in the end, for the content of files that are never flushed."""
        above = self._find(change.path.parent)
        name = change.path.name
        match change.kind:
            case "mkdir" if above is not None and name not in above.entries:
                above.put((name, _Node(is_folder=True)))
            case "open" if above is not None:
                if name not in above.entries:
                    above.put((name, _Node(is_folder=False)))
                at = last / change.path
                above.entries[name].written = at.read_bytes() if at.is_file() else b""
                above.entries[name].safe = None
            case "remove" if above is not None and name in above.entries:
                above.entries[name].written = change.content or b""
                above.put((name, None))
            case "rename" if above is not None and change.to is not None and name in above.entries:
                assert change.to.parent == change.path.parent
                above.put((name, None), (change.to.name, above.entries[name]))
            case "flush":
                self._flush(change)

    def lose_power(self, into: Path, random: Random) -> None:
        """Writes what is left of it into a new folder."""
        _leave(self._root, into, random)

    def _flush(self, change: Change) -> None:
        node = self._find(change.path)
        if node is None:
            return
        if node.is_folder:
            node.flush()
        else:
            node.written = node.safe = change.content or b""

    def _find(self, path: PurePath) -> _Node | None:
        node: _Node | None = self._root
        for part in path.parts:
            node = None if node is None else node.entries.get(part)
        return node


def _known(path: Path) -> _Node:
    if not path.is_dir():
        content = path.read_bytes()
        return _Node(is_folder=False, written=content, safe=content)
    inner = {entry.name: _known(entry) for entry in path.iterdir()}
    return _Node(is_folder=True, entries=inner, flushed=dict(inner))


def _leave(node: _Node, at: Path, random: Random) -> None:
    if not node.is_folder:
        at.write_bytes(node.safe if node.safe is not None else _torn(node.written, random))
        return
    at.mkdir()
    entries = dict(node.flushed)
    for changes in node.pending:
        if random.random() < 0.5:
            for name, inner in changes:
                if inner is None:
                    entries.pop(name, None)
                else:
                    entries[name] = inner
    for name, inner in entries.items():
        _leave(inner, at / name, random)


def _torn(written: bytes, random: Random) -> bytes:
    match random.randrange(4):
        case 0:
            return b""
        case 1:
            return bytes(len(written))
        case 2:
            return written[: random.randrange(len(written) + 1)]
        case _:
            return written
