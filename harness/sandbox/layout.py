"""The layout of a fresh sandbox: the snapshot's files, overlaid by an earlier trial's end state; its clock and
its clean environment.
"""

import posixpath
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from harness.errors import SandboxError, SnapshotError
from harness.sandbox.control import file_content
from harness.sandbox.endstate import OpenEndState, open_end_state
from harness.sandbox.inside.wire import frame
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot, SnapshotEntry

# The environment of a program that must not execute files of an agent: folders and variables.
#
# Programs search for code through HOME (start files of shells, a user's Python packages), by the working directory and
# the folder of a script, and by variables. Here each of them leads to an empty folder, or nowhere.

OWN_FOLDER = "/tmp/harness-own"
"""A folder below the temporary one, from which no file is transferred between sandboxes."""
OWN_HOME = f"{OWN_FOLDER}/home"
OWN_WORK = f"{OWN_FOLDER}/work"
OWN_FOLDERS = (OWN_FOLDER, OWN_HOME, OWN_WORK)

_PYTHON = {
    "PYTHONSAFEPATH": "1",  # no module beside the script or in the working directory
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_LISTS_OF_FOLDERS = (
    *("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "CLASSPATH"),
    *("PYTHONHOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "TCLLIBPATH", "GUILE_LOAD_PATH", "R_LIBS", "R_LIBS_USER"),
)
_START_FILES = (
    *("BASH_ENV", "ENV", "PYTHONSTARTUP", "LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "MAKEFILES"),
    *(
        "PYTHONBREAKPOINT",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "LUA_INIT",
        "LUA_PATH",
        "LUA_CPATH",
    ),
)
_OF_SETTINGS = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "ZDOTDIR", "PYTHONUSERBASE", "INPUTRC", "PSQLRC"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "PIP_CONFIG_FILE", "CARGO_HOME"),
    *("NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_PREFIX", "PHPRC", "PHP_INI_SCAN_DIR", "GEM_HOME"),
    *("BUNDLE_GEMFILE", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "GOENV"),
)
"""Files and folders for settings, which may name programs, or for packages."""


def clean_environment(environment: Mapping[str, str], home: str, places: Collection[str]) -> dict[str, str]:
    """The variables without those that point into one of the writable `places`; `home` is the program's own."""
    kept = {name: value for name, value in environment.items() if name not in _START_FILES}
    for name in _LISTS_OF_FOLDERS:
        if name in kept:
            kept[name] = ":".join(part for part in kept[name].split(":") if _is_outside(part, places))
    for name in _OF_SETTINGS:
        if name in kept and not _is_outside(kept[name], places):
            del kept[name]
    # Compiled code beside a module is loaded as the module's: this folder prevents that search.
    return {**kept, **_PYTHON, "HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/.pycache"}


def _is_outside(folder: str, places: Collection[str]) -> bool:
    """A relative folder counts as inside: it is resolved against the working directory."""
    plain = "/" + posixpath.normpath(folder).lstrip("/")
    return folder.startswith("/") and not any(plain == place or plain.startswith(f"{place}/") for place in places)


# A root-owned entry must stay unchanged, and the owner of a folder can rename its entries. Therefore every folder above
# a root-owned entry is owned by root too, and sticky: the agent can add files there and cannot change those of others.

Owner = Literal["root", "agent"]
"""In the order in which entries are created."""

_OPEN_AND_STICKY = 0o1777
_FOR_OTHERS = 0o002
_PAGE = 4096


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry to create."""

    path: str
    kind: Literal["file", "directory", "link"]
    mode: int
    owner: Owner
    link: str | None = None
    content: bytes | Path = b""
    size: int = 0

    @cached_property
    def head(self) -> bytes:
        """The entry in the launcher's form, without content."""
        return frame({"path": self.path, "kind": self.kind, "mode": self.mode, "link": self.link, "size": self.size})

    def parts(self) -> Iterator[bytes]:
        """The entry in the launcher's form: a frame, then a file's bytes."""
        yield self.head
        if isinstance(self.content, Path):
            yield from file_content(self.content, self.size)
        elif self.content:
            yield self.content


class Layout:
    """All entries of a sandbox, parents first. `absent` are those of the snapshot that the end state had deleted."""

    def __init__(
        self, snapshot: Snapshot, over: OpenEndState | None = None, *, inspects: bool = False, own_home: bool = False
    ) -> None:
        """`inspects`, `own_home`: see SandboxSpec."""
        entries = {file.path: _snapshot_entry(snapshot, file) for file in snapshot.files}
        self.overlaid = _restore_over(entries, over) if over is not None else ()
        self.absent = frozenset(file.path for file in snapshot.files if file.path not in entries)
        self.places = writable_places(snapshot)
        self.implied = _add_parents(entries, self.places)
        self._entries = _protect(entries, self.places)
        _refuse_shut_folders(self._entries)
        if inspects:
            self._entries = _for_inspection(self._entries, frozenset(self.overlaid), self.places)
        if own_home:
            self._entries |= {
                path: Entry(path=path, kind="directory", mode=0o700, owner="agent") for path in OWN_FOLDERS
            }
        self._place_owners = {place: self._owner_of(place) for place in self.places}
        ordered = [entry for _, entry in sorted(self._entries.items())]
        self._owned = {owner: [entry for entry in ordered if entry.owner == owner] for owner in get_args(Owner)}
        self.restored = {
            **{path: SnapshotEntry(path=path, kind="directory", mode=entries[path].mode) for path in self.implied},
            **{file.path: file for file in snapshot.files},
        }

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def of(self, owner: Owner) -> list[Entry]:
        return self._owned[owner]

    def size_mb(self, place: str) -> int:
        """The size of the files below a place, in whole pages; each link to a file counts as the file."""
        pages = sum(-(-entry.size // _PAGE) for path, entry in self._entries.items() if path.startswith(f"{place}/"))
        return -(-pages * _PAGE // 2**20)

    def place_owner(self, place: str) -> Owner:
        """The owner of a writable place."""
        return self._place_owners[place]

    def _owner_of(self, place: str) -> Owner:
        inner = (entry.owner for path, entry in self._entries.items() if path == place or path.startswith(f"{place}/"))
        return "root" if "root" in inner else "agent"


def writable_places(snapshot: Snapshot) -> tuple[str, ...]:
    """The snapshot's writable places, always with the working directory and the temporary one."""
    return tuple(sorted({*snapshot.writable, "/work", "/tmp"}))


def _snapshot_entry(snapshot: Snapshot, file: SnapshotEntry) -> Entry:
    entry = Entry(path=file.path, kind=file.kind, mode=file.mode, owner=file.owner, link=file.link)
    if file.kind != "file":
        return entry
    if snapshot.folder is None:
        raise SnapshotError(f"snapshot {snapshot.name!r} has files, but no folder that holds them")
    source = snapshot.folder / "files" / file.path.lstrip("/")
    if not source.is_file():
        raise SnapshotError(f"snapshot {snapshot.name!r}: {source} is missing", remedy="build the snapshot again")
    return replace(entry, content=source, size=file.size)


def _restore_over(entries: dict[str, Entry], over: OpenEndState) -> tuple[str, ...]:
    for change in over.state.changes:
        entries.pop(change.path, None)
        if change.change == "deleted" or change.kind == "other":
            continue
        content = over.content(change.path) or b""
        entries[change.path] = Entry(
            path=change.path,
            kind=change.kind,
            mode=0o777 if change.mode is None else change.mode,
            owner="agent",
            link=change.link,
            content=content,
            size=len(content),
        )
    return tuple(change.path for change in over.state.changes)


def _add_parents(entries: dict[str, Entry], places: Iterable[str]) -> tuple[str, ...]:
    """Adds the undeclared parent folders of paths; rejects paths outside the writable places."""
    tops = set(places)
    added = {}
    for path in entries:
        above = list(_ancestors(path))
        if posixpath.normpath(path) != path or any(entries[top].kind != "directory" for top in above if top in entries):
            raise SnapshotError(
                f"snapshot file {path!r} is not a plain path, or is below an entry that is not a folder"
            )
        if path not in tops and tops.isdisjoint(above):
            raise SnapshotError(
                f"snapshot file {path!r} is outside the writable places",
                remedy=f"declare files below one of: {', '.join(sorted(tops))}",
            )
        for parent in above:
            if parent in tops:
                break
            if parent not in entries:
                added[parent] = Entry(path=parent, kind="directory", mode=0o755, owner="agent")
    entries.update(added)
    return tuple(added)


def _protect(entries: Mapping[str, Entry], places: Iterable[str]) -> dict[str, Entry]:
    above_root = {parent for path, entry in entries.items() if entry.owner == "root" for parent in _ancestors(path)}
    tops = {
        place: Entry(path=place, kind="directory", mode=_OPEN_AND_STICKY, owner="root")
        for place in above_root.intersection(places)
    }
    return tops | {
        path: replace(entry, owner="root", mode=_OPEN_AND_STICKY)
        if path in above_root and entry.owner == "agent"
        else entry
        for path, entry in entries.items()
    }


def _for_inspection(entries: Mapping[str, Entry], left: Collection[str], places: Iterable[str]) -> dict[str, Entry]:
    """All entries, and the places themselves except the temporary one, for an inspecting program."""
    shown = {path: _inspected(entry, was_left=path in left) for path, entry in entries.items()}
    tops = {place: Entry(path=place, kind="directory", mode=0o555, owner="root") for place in places if place != "/tmp"}
    return {**shown, **tops}


def _inspected(entry: Entry, *, was_left: bool) -> Entry:
    """The entry for inspection: readable, and not writable; executable only if the snapshot's entry is."""
    match entry.kind:
        case "link":
            return replace(entry, owner="root")
        case "directory":
            return replace(entry, owner="root", mode=0o555)
        case "file":
            return replace(entry, owner="root", mode=0o444 if was_left else (entry.mode | 0o444) & 0o555)


def _refuse_shut_folders(entries: Mapping[str, Entry]) -> None:
    for path, entry in entries.items():
        above = entries.get(path.rpartition("/")[0])
        if entry.owner == "agent" and above is not None and above.owner == "root" and not above.mode & _FOR_OTHERS:
            raise SnapshotError(
                f"snapshot file {path!r} is the agent's, and is in a folder of root that only root may write",
                remedy="let root own the file too, or give the folder to the agent",
            )


def _ancestors(path: str) -> Iterator[str]:
    """The folders above, nearest first, without `/`."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def instant_ns(instant: str) -> int:
    """Nanoseconds since 1970 of an ISO 8601 instant, taken as UTC if it names no zone. Raises SandboxError."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError as error:
        raise SandboxError(f"the clock {instant!r} is not an ISO 8601 instant: {error}") from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000


_LAYOUTS_MAX = 8


class Layouts:
    """The layouts for the sandboxes of one provider; safe to use from many threads."""

    def __init__(self) -> None:
        self._latest: deque[tuple[Snapshot, Layout]] = deque(maxlen=_LAYOUTS_MAX)
        self._lock = threading.Lock()

    def of(self, spec: SandboxSpec, snapshot: Snapshot) -> Layout:
        """Raises SnapshotError or SandboxError, also for an invalid clock."""
        if spec.clock is not None:
            instant_ns(spec.clock)
        if spec.end_state_from is not None:
            with open_end_state(spec.end_state_from) as over:
                return Layout(snapshot, over, inspects=spec.inspects, own_home=spec.own_home)
        with self._lock:
            for known, layout in self._latest:
                if known is snapshot:
                    return layout
            layout = Layout(snapshot)
            self._latest.append((snapshot, layout))
        return layout
