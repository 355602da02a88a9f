"""A program run to its end, with the processor time and the memory that it took."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.starting import HARNESS

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


_LAUNCHER = """
import os, resource, sys
report, most_cpu_s, most_bytes, *command = sys.argv[1:]
program = os.fork()
if not program:
    resource.setrlimit(resource.RLIMIT_CPU, (int(most_cpu_s),) * 2)
    resource.setrlimit(resource.RLIMIT_AS, (int(most_bytes),) * 2)
    os.set_inheritable(int(report), False)
    os.execv(command[0], command)
_, state, used = os.wait4(program, 0)
os.write(int(report), f"{os.waitstatus_to_exitcode(state)} {used.ru_utime + used.ru_stime} {used.ru_maxrss}".encode())
"""
"""The kernel counts to a process the memory of the one that it was forked from. So that ours is not the program's peak,
a small process starts it.
"""


def measured(command: Sequence[str], folder: Path, most_cpu_s: int) -> Measured:
    """A program that takes more processor time is ended by the kernel."""
    reading, writing = os.pipe()
    words = [str(writing), str(most_cpu_s), str(_MOST_BYTES), *command]
    with os.fdopen(reading) as report, tempfile.TemporaryFile() as printed:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            pass_fds=[writing],
            check=True,
        )
        os.close(writing)
        status, cpu_s, peak_kb = report.read().split()
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    return Measured(status=int(status), printed=text, cpu_s=float(cpu_s), peak_mb=int(peak_kb) / 1024)
