"""A program run to its end, with the processor time and the memory that it took."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.commands.starting import HARNESS

_MOST_BYTES = 6 << 30
"""Of address space, so that a naive reader ends and the machine does not."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a program printed and took."""

    status: int
    printed: str
    """Output and error."""
    cpu_s: float
    peak_mb: float

    @property
    def ended_plainly(self) -> bool:
        """It did what it was asked for or refused in words: no signal and no traceback."""
        return self.status in {0, 1, 2, 3} and "Traceback" not in self.printed


def harness(*words: str, folder: Path, most_cpu_s: int = 120) -> Measured:
    """`harness words...`, in a process of its own."""
    return measured([str(HARNESS), *words], folder, most_cpu_s)


def python(program: str, *words: str, folder: Path, most_cpu_s: int = 120) -> Measured:
    """The text of a program of Python, as a naive reader would be written."""
    return measured([sys.executable, "-c", program, *words], folder, most_cpu_s)


def measured(command: Sequence[str], folder: Path, most_cpu_s: int) -> Measured:
    """A program that takes more processor time is ended by the kernel."""

    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (most_cpu_s, most_cpu_s))
        resource.prlimit(process.pid, resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        _, state, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(state)
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    return Measured(
        status=process.returncode,
        printed=text,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_mb=used.ru_maxrss / 1024,
    )
