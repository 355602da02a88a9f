"""A case that is a folder of Harbor's format: what its sandbox, its solution and its tests need."""

from pathlib import PurePosixPath
from typing import Final

from harness.values import Frozen

_OF_HARNESS: Final = ("/agent", "/harness", "/run", "/proc", "/sys", "/dev", "/tests", "/solution", "/logs/verifier")
_OF_SYSTEM: Final = ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr")
TESTS_CHECK = "tests"
"""Name of the check that runs the tests of a task folder."""


class TaskFolder(Frozen):
    """The folder of a case that was read from a `task.toml`; never written by hand."""

    folder: str
    """The folder, relative to the suite's."""
    digest: str
    """Sha-256 over every file in it."""
    image: str | None = None
    """Name of an image of a registry, where the folder has no Dockerfile."""
    workdir: str | None = None
    """Where programs start. None: the image's `WORKDIR`."""
    env: dict[str, str] = {}
    """Environment variables of the agent, the solution and the tests."""
    solution_env: dict[str, str] = {}
    """Environment variables of the solution alone."""
    has_solution: bool = False
    """Whether there is a `solution/solve.sh`, which the oracle runs."""
    writable: tuple[str, ...] = ()
    """Writable places besides the usual ones."""


def place_problem(place: str) -> str | None:
    """Why a folder of the sandbox cannot be a writable place of a task; None where it can."""
    path = PurePosixPath(place)
    if not path.is_absolute() or ".." in path.parts or str(path) != place:
        return f"{place!r} is not a plain absolute path"
    if any(path.is_relative_to(own) or PurePosixPath(own).is_relative_to(path) for own in _OF_HARNESS):
        return f"{place!r} cannot be writable: it holds, or is in, what the harness or the tests put there"
    if place in _OF_SYSTEM:
        return f"{place!r} cannot be writable: it holds the programs and libraries of the image"
    return None
