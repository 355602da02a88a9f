"""Names of runs: validation, defaults, and conflicts."""

import itertools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from harness.errors import UsageError
from harness.results.manifest import RUN_NAME

T = TypeVar("T")


class RunNameTaken(UsageError):
    """A run of that name exists already."""


def begin_run(runs: Path, given: str | None, default: str, begin: Callable[[str], T]) -> T:
    """Returns the result of `begin` for the run's name: `given`, else `default`, `default-2` and so on.

    Several processes may start a run in the same second, so that another process can take a free name first. `begin`
    raises RunNameTaken then, before it has any other effect, and is called with the next name.
    """
    if given is not None:
        return begin(given)
    for name in itertools.chain([default], (f"{default}-{number}" for number in itertools.count(2))):
        if not (runs / name).exists():
            with suppress(RunNameTaken):
                return begin(name)
    raise AssertionError("the numbers do not end")


def default_run_name(now: datetime, suite: str, agent: str) -> str:
    """`20260131-235959-drive_thru-v2`: sorts by time; characters that are not safe in a path become `-`."""
    stamp = now.strftime("%Y%m%d-%H%M%S")
    return "-".join([stamp, *(re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-.")[:40] for part in (suite, agent))])


def check_run_name(name: str) -> str:
    """The name itself; raises UsageError where it could not be a folder's."""
    if not re.fullmatch(RUN_NAME, name):
        raise UsageError(
            f"invalid run name {name!r}",
            remedy="use at most 120 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    return name
