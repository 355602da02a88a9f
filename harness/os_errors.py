"""Translates errors of the operating system (space, permission, descriptors, processes) into messages for users."""

import errno

from harness.errors import HarnessError

_KEPT = "what is finished is kept: `harness run --resume RUN` goes on"
_REMEDIES = {
    errno.ENOSPC: f"free some space there (temporary files go where TMPDIR says); {_KEPT}",
    errno.EDQUOT: f"free some of this user's quota there; {_KEPT}",
    errno.EFBIG: f"allow larger files there (`ulimit -f`); {_KEPT}",
    errno.EROFS: "it is mounted read-only: use a project, runs/ and TMPDIR that can be written",
    errno.EACCES: "let this user read and write there",
    errno.EPERM: "let this user read and write there",
    errno.EMFILE: f"allow more open files (`ulimit -n 4096`) or run with fewer --jobs; {_KEPT}",
    errno.ENFILE: f"the machine has no more open files: run with fewer --jobs; {_KEPT}",
    errno.EAGAIN: f"allow more processes (`ulimit -u`, the cgroup's pids.max) or run with fewer --jobs; {_KEPT}",
    errno.ENOMEM: f"free some memory or run with fewer --jobs; {_KEPT}",
    errno.EIO: f"the disk or the terminal is gone; {_KEPT}",
}
_NO_THREAD = "can't start new thread"


def os_error_in_words(error: OSError | MemoryError | RuntimeError) -> HarnessError:
    """The error in words. Raises `error` itself where the machine refused nothing: it is a defect of the harness."""
    match error:
        case OSError():
            place = ": ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
            what = error.strerror or str(error) or type(error).__name__
            return HarnessError(f"{place}: {what}" if place else what, remedy=_REMEDIES.get(error.errno or 0))
        case MemoryError():
            return HarnessError("there is no memory left", remedy=_REMEDIES[errno.ENOMEM])
        case _ if _NO_THREAD in str(error):
            return HarnessError("no further thread can be started", remedy=_REMEDIES[errno.EAGAIN])
        case _:
            raise error
