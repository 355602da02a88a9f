"""The snapshot files that a warm container keeps: written once, and visible to every trial through its own overlay.

A trial gets them at the cost of a mount, independent of their number. Its changes are stored in its own upper folder,
in a tmpfs of the size of the place; its end state is computed from both (`overlaid`).
"""

from __future__ import annotations

import posix

from harness.sandbox.inside.files import DEPTH_MAX, FOLDER, KIND, NO_LINKS, WritablePlaces, walk

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.sandbox.inside.files import Entry


if TYPE_CHECKING:
    from collections.abc import Callable

    Mount = Callable[[str, str, str | None, int, str | None], None]

_NOSUID, _NODEV = 2, 4
_REAL_NUMBER = (1 << 48) - 1
"""The bits of an inode number that the overlay keeps; the bits above may contain the layer."""
_EXDEV = 18
_MOVED = ".moved"
_OPTIONS = ",xino=on,redirect_dir=on,metacopy=off,index=off"
"""Makes folders of the snapshot renameable, as ordinary folders are."""


class LayerCache:
    """The folders and their content. All are mounted in the supervisor's own namespace, except in `mount_overlay`."""

    def __init__(self, stage: str, mount: Mount) -> None:
        self._upper = stage + "/upper"
        self._tried = stage + "/tried"
        self._mount = mount
        self._lower: dict[bytes, str] = {}
        self._created: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        """The number and mode of each entry, by folder and name."""
        for folder in ("/upper", "/tried", "/kept"):
            posix.mkdir(stage + folder, 0o755)

    def prepare(self, places: list[list[bytes]]) -> None:
        """Makes an empty folder for each place: `[place, folder, options]`, the options of its tmpfs."""
        for place, folder, options in places:
            where = folder.decode()
            posix.mkdir(where, 0o755)
            self._mount("tmpfs", where, "tmpfs", _NOSUID | _NODEV, options.decode())
            self._lower[place] = where

    def note(self) -> None:
        """Called when everything has been written; empty places need no overlay."""
        self._lower = {place: where for place, where in self._lower.items() if posix.listdir(where)}
        pairs = [[place, where.encode()] for place, where in self._lower.items()]
        for path, _, name, _, state in walk(WritablePlaces(pairs, confined=False)):
            self._created.setdefault(path[: -len(name) - 1], {})[name] = (state.st_ino, state.st_mode)

    def try_out(self) -> None:
        """Raises OSError if this kernel's overlays lack a needed feature; runs in a namespace of its own."""
        for place, lower in self._lower.items():
            self.mount_overlay(place, self._tried, "size=1m")
            names = posix.listdir(lower)
            folders = [name for name in names if posix.lstat(lower + "/" + name).st_mode & KIND == FOLDER]
            name = (folders or names)[0]
            path = self._tried + "/" + name
            if not self.is_untouched(place, _bytes(name), posix.lstat(path)):
                raise OSError(_EXDEV, "an overlay has numbers of its own for what is below it")
            posix.rename(path, path + _MOVED)  # some kernels cannot rename folders

    def forget(self) -> None:
        """Uses no overlay: every trial gets its own copy."""
        self._lower.clear()
        self._created.clear()

    def has(self, place: bytes) -> bool:
        """Whether the place is provided through an overlay."""
        return place in self._lower

    def mount_overlay(self, place: bytes, target: str, options: str) -> int:
        """Mounts the place at `target` for one trial; returns a descriptor of the folder with its changes."""
        lower = self._lower[place]
        self._mount("tmpfs", self._upper, "tmpfs", _NOSUID | _NODEV, options)  # over the last one, if any
        upper = self._upper + "/changed"
        original = posix.stat(lower)
        posix.mkdir(upper, 0o700)
        posix.chown(upper, original.st_uid, original.st_gid)
        posix.chmod(upper, original.st_mode & 0o7777)
        posix.mkdir(self._upper + "/work", 0o700)
        layers = "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + self._upper + "/work"
        self._mount("overlay", target, "overlay", _NOSUID | _NODEV, layers + _OPTIONS)
        return posix.open(upper, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)

    def names(self, folder: bytes) -> list[bytes]:
        """The names that were created in a folder; empty for a path that is not a folder."""
        return list(self._created.get(folder, ()))

    def is_untouched(self, folder: bytes, name: bytes, state: posix.stat_result) -> bool:
        """Whether an entry that the trial has not changed is the one that was created under this name.

        It is not if the trial has moved a folder: its content moves along, and belongs to other paths.
        """
        number, _ = self._created.get(folder, {}).get(name, (0, 0))
        return number == state.st_ino & _REAL_NUMBER

    def is_folder_as_created(self, folder: bytes, name: bytes, state: posix.stat_result) -> bool:
        """Whether a folder was created there with this mode, whatever its present content."""
        _, mode = self._created.get(folder, {}).get(name, (0, 0))
        return mode == state.st_mode and mode & KIND == FOLDER

    def below(self, path: bytes) -> list[bytes]:
        """The path, and everything that was created below it."""
        found = [path]
        for name in self.names(path):
            found += self.below(path + b"/" + name)
        return found


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


# Finds a trial's changes to files behind an overlay; the cost depends on the changes, not on the number of files.
#
# Only folders that the trial has touched are in the overlay's upper folder, and only these are read, as the trial saw
# them: what the upper folder has of its own is changed; of the rest, what is not the entry that was created at this
# path has been moved there with its folder; and what was created and is not seen is gone. So nothing of the overlay's
# own marks has to be read, which would need a capability that the launcher does not have.

_FOLDERS = posix.O_RDONLY | posix.O_DIRECTORY | NO_LINKS


class Overlaid:
    """The places of one trial that are overlays; `uppers` are descriptors of their upper folders."""

    def __init__(self, kept: LayerCache, uppers: dict[bytes, int]) -> None:
        self._kept = kept
        self._uppers = uppers

    def has(self, place: bytes) -> bool:
        """Whether the place is an overlay."""
        return place in self._uppers

    def changed(self, place: bytes, real: bytes, gone: dict[bytes, None]) -> Iterator[Entry]:
        """Entries, in the form of `files.walk`, that may have changed below a place; deleted paths are added to
        `gone`.
        """
        upper = posix.open(".", _FOLDERS, dir_fd=self._uppers[place])
        return self._changed_below(place, posix.open(real, _FOLDERS), upper, 1, gone)

    def _changed_below(
        self, shown: bytes, seen: int, upper: int | None, depth: int, gone: dict[bytes, None]
    ) -> Iterator[Entry]:
        try:
            own = set() if upper is None else set(posix.listdir(upper))
            missing = dict.fromkeys(self._kept.names(shown))
            for text in sorted(posix.listdir(seen)):
                name = text.encode("utf-8", "surrogateescape")
                missing.pop(name, None)
                state = posix.stat(name, dir_fd=seen, follow_symlinks=False)
                path = shown + b"/" + name
                if text not in own and self._kept.is_untouched(shown, name, state):
                    continue
                if not self._kept.is_folder_as_created(shown, name, state):
                    yield path, seen, name, depth, state
                if state.st_mode & KIND != FOLDER:
                    gone.update(dict.fromkeys(self._kept.below(path)[1:]))
                elif depth < DEPTH_MAX:
                    below = posix.open(name, _FOLDERS, dir_fd=upper) if upper is not None and text in own else None
                    yield from self._changed_below(
                        path, posix.open(name, _FOLDERS, dir_fd=seen), below, depth + 1, gone
                    )
            for name in missing:
                gone.update(dict.fromkeys(self._kept.below(shown + b"/" + name)))
        finally:
            posix.close(seen)
            if upper is not None:
                posix.close(upper)
