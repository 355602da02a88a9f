"""The root file system of all trials of a warm container: the image's, except for its uppermost folders, which are in
memory.

Where the image's file system is one of user space (fuse-overlayfs), the kernel asks its daemon about each folder of a
path, each time, for every user who does not own the folder: a third of the start of a Python program. The folders that
nearly every path leads through are therefore created in memory, with their content bind-mounted. Where the engine shows
the layers that the image is made of, `/usr` comes from them, stacked by the kernel.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Mount = Callable[[str, str, str | None, int, str | None], None]

_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND = 1, 2, 4, 32, 4096
_USR = "/usr"
_GONE = ".wh."
_MADE_ANEW = ("/usr", "/usr/lib", "/usr/local", "/usr/local/lib")
_KIND, _FOLDER, _LINK = 0o170000, 0o040000, 0o120000


def build(stage: str, layers: str, mount: Mount) -> None:
    """Mounts the root at `root` in the folder `stage`, and its sources at `image` and `usr` there.

    `layers` are folders divided by colons, the uppermost first; empty: the image is used as the engine mounts it.
    """
    image, root = stage + "/image", stage + "/root"
    mount("/", image, None, _BIND, None)
    mount("none", image, None, _BIND | _REMOUNT | _RDONLY, None)
    mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=0755")
    quicker = stage + _USR if _mount_layers(layers, stage + _USR, image, mount) else None
    _Skeleton(image, quicker, root, mount).make("")
    mount("none", root, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV, None)


def _mount_layers(layers: str, place: str, image: str, mount: Mount) -> bool:
    """Mounts the layers at `place`; returns whether they equal what the engine shows."""
    upper = layers.split(":")[:-1]
    try:
        if not upper or any(_leaves_out(layer + _USR) for layer in upper):
            return False
        mount("overlay", place, "overlay", _RDONLY | _NOSUID | _NODEV, "lowerdir=" + layers)
        return _seen(place + _USR) == _seen(image + _USR)
    except OSError:
        return False  # this kernel does not support it, or denies it


def _leaves_out(folder: str) -> bool:
    """Whether the layer marks deleted files in a way that the kernel does not know."""
    waiting = [folder]
    while waiting:
        try:
            entries = list(posix.scandir(waiting.pop()))
        except FileNotFoundError:
            continue  # the layer has no such folder
        if any(entry.name.startswith(_GONE) for entry in entries):
            return True
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return False


def _seen(folder: str) -> tuple[object, ...]:
    found = posix.lstat(folder)
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, sorted(posix.listdir(folder))


class _Skeleton:
    def __init__(self, image: str, quicker: str | None, root: str, mount: Mount) -> None:
        self._image = image
        self._quicker = quicker
        self._root = root
        self._mount = mount

    def make(self, folder: str) -> None:
        """Creates a folder with its whole content, then sets the folder's own mode and time."""
        for name in posix.listdir(self._image + folder):
            path = folder + "/" + name
            source = self._source(path)
            found = posix.lstat(source)
            if found.st_mode & _KIND == _LINK:
                posix.symlink(posix.readlink(source), self._root + path)
                posix.utime(self._root + path, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
            elif path in _MADE_ANEW and (found.st_mode & _KIND, found.st_uid, found.st_gid) == (_FOLDER, 0, 0):
                posix.mkdir(self._root + path, 0o755)
                self.make(path)
            else:
                self._bind(source, path, found.st_mode & _KIND == _FOLDER)
        found = posix.lstat(self._image + folder)
        posix.chmod(self._root + folder, found.st_mode & 0o7777)
        posix.utime(self._root + folder, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _source(self, path: str) -> str:
        if self._quicker is not None and (path == _USR or path.startswith(_USR + "/")):
            return self._quicker + path
        return self._image + path

    def _bind(self, source: str, path: str, is_folder: bool) -> None:
        if is_folder:
            posix.mkdir(self._root + path, 0o755)
        else:
            posix.close(posix.open(self._root + path, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o644))
        self._mount(source, self._root + path, None, _BIND, None)
