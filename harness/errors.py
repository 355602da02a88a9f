"""The error tree and its exit codes.

An exception means that the *harness* could not do its work. What an agent or a tool does wrong is data
(an outcome, an observation's error, a verdict) and is never raised.

    HarnessError                 3   the harness could not
    |-- UsageError               2   the command line asks for something that cannot be
    |   `-- InvalidDocument      2   a suite, case, environment or tool file is wrong: names file, line, field
    |-- SandboxError             3   the container engine, an image or a sandbox failed
    |   |-- EngineUnavailable    3   no container engine answers
    |   |-- SandboxLost          3   a sandbox ended, or does not answer any more
    |   `-- ImageError           3   an image cannot be built or found
    |-- SnapshotError            3   a snapshot is missing, truncated or changed
    |-- ServiceError             3   a service did not start, died or cannot be reached
    |-- CassetteError            3   a cassette cannot be read or must not be written
    |-- GatewayError             3   the gateway could not open, serve or close a session
    |-- ResultsError             3   a run folder is missing, taken or damaged
    |-- TrackerError             3   an issue tracker refused, or its answer cannot be used
    |   `-- TrackerUnavailable   3   nothing further can be asked of it now: no access, rate limit, no answer
    |-- OutOfTime                3   an expression or a schema needs more time for a text than it is given
    `-- NotMeasured              3   a gate was asked about something that no trial measured

Exit code 1 is not an exception: it is a verdict (failing cases, a gate that does not hold).
"""

import errno
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path


_LONGEST = 4000
"""The maximum number of characters of a message, which may quote a file or a very long name."""


class ExitCode(IntEnum):
    """The exit statuses of the process."""

    DONE = 0
    VERDICT = 1
    USAGE = 2
    COULD_NOT = 3


class HarnessError(Exception):
    """Something the harness could not do; the message says what happened, to what, and what to do."""

    exit_code: ExitCode = ExitCode.COULD_NOT
    agent_had_begun: bool = False
    """Whether the agent's program of the trial had been started, so that it may be the cause."""

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST - 500]} ... {message[-490:]}"
        self.message = message
        self.remedy = remedy
        super().__init__(message if remedy is None else f"{message}\n  -> {remedy}")


class UsageError(HarnessError):
    """The command line, or a value it leads to, asks for something that cannot be."""

    exit_code = ExitCode.USAGE


class InvalidDocument(UsageError):
    """A file that a person wrote is wrong; names the file, the line if it is known, and the field."""

    def __init__(
        self,
        path: "Path",
        problem: str,
        *,
        line: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = path
        self.line = line
        self.field = field
        self.problem = problem if field is None else f"field {field!r}: {problem}"
        place = str(path) if line is None else f"{path}:{line}"
        subject = "" if field is None else f" field {field!r}:"
        self._problem = problem
        super().__init__(f"{place}:{subject} {problem}", remedy=remedy)

    def with_remedy(self, remedy: str) -> "InvalidDocument":
        """The same error with another remedy."""
        return InvalidDocument(self.path, self._problem, line=self.line, field=self.field, remedy=remedy)


class SandboxError(HarnessError):
    """The container engine or a sandbox failed; never the agent's own failure."""


class EngineUnavailable(SandboxError):
    """No container engine answers."""


class SandboxLost(SandboxError):
    """A sandbox ended, or does not answer any more. `by`: its own programs used up its memory, or the engine ended it
    or does not answer itself; None: not known.
    """

    def __init__(self, message: str, by: Literal["memory", "engine"] | None) -> None:
        super().__init__(message)
        self.by = by


class ImageError(SandboxError):
    """An image cannot be built, pulled or found."""


class SnapshotError(HarnessError):
    """A snapshot is missing, truncated or no longer what was built; names the file."""


class ServiceError(HarnessError):
    """A service beside the agent did not become healthy, died, or cannot be reached.

    `logs`: the end of what each service printed, as far as whoever raises it could read that.
    """

    def __init__(self, message: str, *, remedy: str | None = None, logs: Mapping[str, str] | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.logs = dict(logs or {})


class CassetteError(HarnessError):
    """A cassette cannot be read, or must not be written (a known secret is in it)."""


class GatewayError(HarnessError):
    """The gateway could not open, serve or close a session."""


class ReplayDiverged(GatewayError):
    """A trial that was played again did something else than before: the agent is not deterministic, or its tools."""

    def __init__(self, step: int | None, expected: str, found: str) -> None:
        place = "before the fork" if step is None else f"at step {step}"
        super().__init__(
            f"the replay differs {place}: expected {expected}, found {found}",
            remedy="an agent that does otherwise each time cannot be forked",
        )
        self.step = step
        self.expected = expected
        self.found = found


class ResultsError(HarnessError):
    """A run folder is missing, already taken, or damaged."""


class TrackerError(HarnessError):
    """An issue tracker refused one issue, or answered what cannot be used; others may still be filed."""


class TrackerUnavailable(TrackerError):
    """Further requests to the tracker are impossible for now: no access, a rate limit, or no answer."""


class OutOfTime(HarnessError):
    """An expression or a schema of a suite, tool or rubric needs more time for a text than it is given."""


class NotMeasured(HarnessError):
    """A gate names a value that no trial measured."""


# Translates errors of the operating system (space, permission, descriptors, processes) into messages for users.

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
    """The error in words. Raises `error` itself if the machine refused nothing: it is a defect of the harness."""
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
