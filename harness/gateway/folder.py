"""The private folder that a gateway's sockets lie in, and the ones that killed gateways have left."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "gateway.sock"
_PREFIX = "hgw-"
_MAX_SOCKET_PATH = 107
_LONGEST = len(f"/{_PREFIX}abcdefgh/12345678-abcdefgh/{SOCKET}")
_YOUNG_S = 60.0


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A folder for this process alone, short enough for the path of a Unix socket; removed in the end.

    A lock that the kernel drops with the process says that it is in use; those without one are removed here too.
    """
    wanted = tempfile.gettempdir()
    parent = Path(wanted if len(os.fsencode(wanted)) + _LONGEST <= _MAX_SOCKET_PATH else "/tmp")
    _remove_abandoned(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(handle)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # another user's, or gone meanwhile
        try:
            found = os.fstat(handle)
            # A folder that was made a moment ago may not be locked yet.
            if found.st_uid == os.getuid() and time.time() - found.st_mtime > _YOUNG_S:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue  # in use
        finally:
            os.close(handle)
