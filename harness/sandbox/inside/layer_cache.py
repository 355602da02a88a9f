"""The snapshot files that a warm container keeps: laid once, and seen by every trial through an overlay of its own.

A trial gets them at the cost of a mount, however many they are. What it changes lies in its own upper folder, in a
tmpfs of the size that the place may have; what it leaves is told from the two (`overlaid`).
"""

from __future__ import annotations

import posix

from harness.sandbox.inside.files import FOLDER, KIND, WritablePlaces, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Mount = Callable[[str, str, str | None, int, str | None], None]

_NOSUID, _NODEV = 2, 4
_REAL_NUMBER = (1 << 48) - 1
"""What of an inode's number the overlay leaves as it is; above that it may say which of its layers has it."""
_EXDEV = 18
_MOVED = ".moved"
_OPTIONS = ",xino=on,redirect_dir=on,metacopy=off,index=off"
"""As in an ordinary folder, one of the snapshot can be renamed."""


class LayerCache:
    """The folders, and what is in them. All mounts are made in the supervisor's own namespace but for `lay_over`'s."""

    def __init__(self, stage: str, mount: Mount) -> None:
        self._upper = stage + "/upper"
        self._tried = stage + "/tried"
        self._mount = mount
        self._lower: dict[bytes, str] = {}
        self._laid: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        """By folder and name, each entry's number and mode."""
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
        """Everything has been laid; places in which nothing lies need no overlay."""
        self._lower = {place: where for place, where in self._lower.items() if posix.listdir(where)}
        pairs = [[place, where.encode()] for place, where in self._lower.items()]
        for path, _, name, _, state in walk(WritablePlaces(pairs, confined=False)):
            self._laid.setdefault(path[: -len(name) - 1], {})[name] = (state.st_ino, state.st_mode)

    def try_out(self) -> None:
        """Raises OSError where this kernel's overlays cannot do what is needed of them; in a namespace of its own."""
        for place, lower in self._lower.items():
            self.lay_over(place, self._tried, "size=1m")
            names = posix.listdir(lower)
            folders = [name for name in names if posix.lstat(lower + "/" + name).st_mode & KIND == FOLDER]
            name = (folders or names)[0]
            path = self._tried + "/" + name
            if not self.is_untouched(place, _bytes(name), posix.lstat(path)):
                raise OSError(_EXDEV, "an overlay has numbers of its own for what lies below it")
            posix.rename(path, path + _MOVED)  # it is folders that some cannot

    def forget(self) -> None:
        """Lays over nothing: every trial is to have its own."""
        self._lower.clear()
        self._laid.clear()

    def has(self, place: bytes) -> bool:
        """Whether the place is to be seen through an overlay."""
        return place in self._lower

    def lay_over(self, place: bytes, target: str, options: str) -> int:
        """Mounts the place at `target` for one trial; gives a descriptor of the folder of what that changes."""
        lower = self._lower[place]
        self._mount("tmpfs", self._upper, "tmpfs", _NOSUID | _NODEV, options)  # over the last one, if any
        upper = self._upper + "/changed"
        as_laid = posix.stat(lower)
        posix.mkdir(upper, 0o700)
        posix.chown(upper, as_laid.st_uid, as_laid.st_gid)
        posix.chmod(upper, as_laid.st_mode & 0o7777)
        posix.mkdir(self._upper + "/work", 0o700)
        layers = "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + self._upper + "/work"
        self._mount("overlay", target, "overlay", _NOSUID | _NODEV, layers + _OPTIONS)
        return posix.open(upper, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)

    def names(self, folder: bytes) -> list[bytes]:
        """What was laid into a folder; nothing, if it is none."""
        return list(self._laid.get(folder, ()))

    def is_untouched(self, folder: bytes, name: bytes, state: posix.stat_result) -> bool:
        """Whether what the trial has changed nothing of is what was laid under this name.

        It is not where the trial has moved a folder: what is in it comes along, and belongs to other paths.
        """
        number, _ = self._laid.get(folder, {}).get(name, (0, 0))
        return number == state.st_ino & _REAL_NUMBER

    def is_folder_as_laid(self, folder: bytes, name: bytes, state: posix.stat_result) -> bool:
        """Whether a folder is one that was laid there with this mode, whatever is in it now."""
        _, mode = self._laid.get(folder, {}).get(name, (0, 0))
        return mode == state.st_mode and mode & KIND == FOLDER

    def below(self, path: bytes) -> list[bytes]:
        """The path, and everything that was laid below it."""
        found = [path]
        for name in self.names(path):
            found += self.below(path + b"/" + name)
        return found


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
