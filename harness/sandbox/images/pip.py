"""pip, run for the Python of an image: wheels only, and its failures reported with the requirement's name."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.errors import ImageError
from harness.sandbox.images.bootstrap import PYTHON, Progress
from harness.sandbox.ownership import owned_environment
from harness.subprocess_environment import PIP, subprocess_environment

_NEWEST_GLIBC = 36
_OLDEST_GLIBC = 5
_UNREACHABLE = re.compile(r"Retrying \(|connection error|ConnectTimeout|NewConnectionError|Name or service not known")
_NO_WHEEL = re.compile(  # the second where the requirement is constrained too: two packages that conflict are two words
    r"No matching distribution found for (?P<requirement>[^\n]+)|Cannot install (?P<constrained>[^\s,]+) because"
)
_HASHLESS = re.compile(r"all requirements must have their hashes|Hashes are required in --require-hashes mode")
_LOOKED_FOR = re.compile(r"Collecting (?P<project>[A-Za-z0-9][\w.-]*)|Processing .*?(?P<wheel>[\w.]+)-[^/]*\.whl")
_CONFLICT = re.compile(r"    (?P<conflict>\S+ \S+ depends on \S.*)")
_SHOWN_CONFLICTS = 4
_OTHER_BYTES = "DO NOT MATCH THE HASHES"


def run_pip(requirements: Path, machine: str, *options: str, progress: Progress = lambda _: None) -> None:
    """`pip install` of the requirements for `machine` (such as x86_64); `progress` receives each requested project.

    Raises ImageError that names the requirement where the reason is known, and ends with pip's own last lines.
    """
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(_NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1)]
    old = [f"manylinux{year}_{machine}" for year in ("2014", "2010", "1")]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", PYTHON]
    command += [part for name in (*platforms, *old, f"linux_{machine}") for part in ("--platform", name)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            [*command, *options, "--requirement", str(requirements)],
            env={**subprocess_environment(*PIP), **owned_environment(), "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        ) as pip,
    ):
        assert pip.stdout is not None
        conflicts: list[str] = []
        for line in pip.stdout:
            if conflict := _CONFLICT.match(line):
                conflicts.append(conflict["conflict"].strip())
            if found := _LOOKED_FOR.match(line):  # other lines may contain an index URL with credentials
                progress(f"  {found['project'] or found['wheel']}")
        if pip.wait() != 0:
            errors.seek(0)
            raise _failure(errors.read(), conflicts, machine)


def _failure(printed: str, conflicts: list[str], machine: str) -> ImageError:
    last = "\n".join(printed.strip().splitlines()[-8:])
    what, remedy = _reason(printed, conflicts, machine)
    return ImageError(f"the wheels of an image could not be fetched{what}:\n{last}", remedy=remedy)


def _conflicting(conflicts: list[str], machine: str) -> tuple[str, str]:
    """As `_reason`, where pip found no set of wheels: a package that has none at all looks to pip like a conflict."""
    more = f" and {len(conflicts) - _SHOWN_CONFLICTS} more" if len(conflicts) > _SHOWN_CONFLICTS else ""
    listed = "; ".join(conflicts[:_SHOWN_CONFLICTS]) + more
    return (
        f". No set of wheels (CPython {PYTHON}, {machine}) fits: {listed}",
        "a package after `depends on` has no wheel in the versions asked for, or two of them exclude each other: "
        "require another version, or a package that does not need it",
    )


def _reason(printed: str, conflicts: list[str], machine: str) -> tuple[str, str]:
    """The reason, as the end of a sentence, and what to do about it."""
    if _HASHLESS.search(printed):
        return "; a requirement has no hash", "harness image lock NAME writes them from requirements.in"
    if _OTHER_BYTES in printed:
        return "; a wheel is not the one that was pinned", "harness image lock NAME pins anew, if the new one is wanted"
    if _UNREACHABLE.search(printed):
        return "; no package index answers", "set up pip for an index that this machine reaches (PIP_INDEX_URL)"
    if conflicts:
        return _conflicting(conflicts, machine)
    if missing := _NO_WHEEL.search(printed):
        requirement = (missing["requirement"] or missing["constrained"]).strip()
        return (
            f". No wheel exists for {requirement} (CPython {PYTHON}, {machine}) on the index that pip asks",
            f"pin a version of {re.split('[=<>~!;@ ]', requirement)[0]} that has one",
        )
    return "", "where pip itself is missing: python3 -m ensurepip"
