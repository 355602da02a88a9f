"""The root that all worlds of a warm container see: the image's, but for its uppermost folders, which lie in memory.

Where the image's file system is one of user space (fuse-overlayfs), the kernel asks its daemon about each folder of a
path, each time, for anybody who does not own the folder: a third of the start of a Python program. The folders that
nearly every path leads through are therefore made anew, and what lies in them is bound there.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Mount = Callable[[str, str, str | None, int, str | None], None]

_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND = 1, 2, 4, 32, 4096
_MADE_ANEW = ("/usr", "/usr/lib", "/usr/local", "/usr/local/lib")
_KIND, _FOLDER, _LINK = 0o170000, 0o040000, 0o120000


def build(image: str, root: str, mount: Mount) -> None:
    """Mounts the root of the worlds at the folder `root`; `image` is an empty folder that the image is bound at."""
    mount("/", image, None, _BIND, None)
    mount("none", image, None, _BIND | _REMOUNT | _RDONLY, None)
    mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=0755")
    _Skeleton(image, root, mount).make("")
    mount("none", root, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV, None)


class _Skeleton:
    def __init__(self, image: str, root: str, mount: Mount) -> None:
        self._image = image
        self._root = root
        self._mount = mount

    def make(self, folder: str) -> None:
        """All that lies in a folder, then the folder's own mode and time."""
        for name in posix.listdir(self._image + folder):
            path = folder + "/" + name
            found = posix.lstat(self._image + path)
            if found.st_mode & _KIND == _LINK:
                posix.symlink(posix.readlink(self._image + path), self._root + path)
                posix.utime(self._root + path, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
            elif path in _MADE_ANEW and (found.st_mode & _KIND, found.st_uid, found.st_gid) == (_FOLDER, 0, 0):
                posix.mkdir(self._root + path, 0o755)
                self.make(path)
            else:
                self._bind(path, found.st_mode & _KIND == _FOLDER)
        found = posix.lstat(self._image + folder)
        posix.chmod(self._root + folder, found.st_mode & 0o7777)
        posix.utime(self._root + folder, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _bind(self, path: str, is_folder: bool) -> None:
        if is_folder:
            posix.mkdir(self._root + path, 0o755)
        else:
            posix.close(posix.open(self._root + path, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o644))
        self._mount(self._image + path, self._root + path, None, _BIND, None)
