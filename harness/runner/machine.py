"""Computes how many trials this machine can run at a time.

A trial that works needs a processor; one that waits for a live model, tool or host needs its memory only. Memory is
counted by the cases' limits, not by the agents' actual use, so that no trial is ended because of another.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.case import Limits

MOST: Final = 64
"""The default never exceeds this number of parallel trials: each has a container, a thread and connections of its own.
"""
_LEFT: Final = 0.8
"""Share of the free memory that trials may have."""
_CGROUP: Final = Path("/sys/fs/cgroup")


def jobs_held(limits: Iterable[Limits]) -> int:
    """The number of trials that work at a time: one for each processor, where memory allows."""
    return min(processors(), trials_held(limits))


def trials_held(limits: Iterable[Limits]) -> int:
    """The number of trials that run at a time, including waiting ones."""
    largest_mb = max((one.memory_mb for one in limits), default=1)
    return max(1, min(MOST, int(free_memory_mb() * _LEFT) // largest_mb))


def processors() -> int:
    """The number of processors that this process may use."""
    allowed = len(os.sched_getaffinity(0))
    quota = _processor_quota()
    return allowed if quota is None else max(1, min(allowed, round(quota)))


def free_memory_mb() -> int:
    """The free memory of the machine, limited by the control group where it has a limit."""
    fields = (line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    free_kb = next(int(field[1]) for field in fields if field[0] == "MemAvailable:")
    found = [free_kb // 1024]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = _number(_CGROUP / limit), _number(_CGROUP / used)
        if most is not None and taken is not None:
            found.append(max(0, most - taken) // 1_048_576)
    return min(found)


def _processor_quota() -> float | None:
    """The processor quota of the control group, in processors; None where it has no limit."""
    try:
        quota, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        old, per = _number(_CGROUP / "cpu/cpu.cfs_quota_us"), _number(_CGROUP / "cpu/cpu.cfs_period_us")
        return None if old is None or old <= 0 or not per else old / per


def _number(path: Path) -> int | None:
    """The number in the file; None where the file is missing or contains a word."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
