"""Runs one verb as a program of its own, within bounds: its output, its time, and an environment without credentials.

A process for each call costs some tenths of a second. It makes what a coding agent reads the same bytes as on the
command line, and a damaged run folder ends a call instead of the server.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import HarnessError
from harness.subprocess_environment import subprocess_environment

MAX_OUTPUT_BYTES: Final = 32 << 20
MAX_SECONDS: Final = 120.0
_PYTHON: Final = ("PYTHON", "VIRTUAL_ENV", "DOCKER_HOST")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a verb printed, and its exit status."""

    status: int
    output: bytes
    messages: str
    """Standard error."""


async def run_verb(project: Path, words: Sequence[str], seconds: float = MAX_SECONDS) -> Ended:
    """Runs `harness WORDS` in the project, and imports no file of the project for having the name of a module.

    Raises HarnessError where it takes too long or prints too much; on that, and on cancellation, the program and all
    that it started are ended.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "harness", "--project", str(project), *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=project,
        env=subprocess_environment(*_PYTHON),
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None  # noqa: PT018 - both requested above
    try:
        async with asyncio.timeout(seconds):
            output, messages = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            status = await process.wait()
    except TimeoutError:
        raise HarnessError(f"`harness {words[0]}` took more than {seconds:g} s and was ended") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return Ended(status=status, output=output, messages=messages.decode("utf-8", "replace"))


async def _read(stream: asyncio.StreamReader) -> bytes:
    read = bytearray()
    while part := await stream.read(1 << 16):
        read += part
        if len(read) > MAX_OUTPUT_BYTES:
            raise HarnessError(f"more than {MAX_OUTPUT_BYTES >> 20} MB of output", remedy="ask for less")
    return bytes(read)
