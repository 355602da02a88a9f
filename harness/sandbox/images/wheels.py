"""Python packages of images: locked into requirements, fetched by hash, and added in a layer of wheels."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.disk import flush_tree, is_file, write_atomically
from harness.errors import ImageError, UsageError
from harness.processes import PIP, partial_name, subprocess_environment
from harness.sandbox.images.building import PYTHON, Progress
from harness.sandbox.images.recipe import ContextFile, read_files
from harness.sandbox.ownership import owned_environment

_NEWEST_GLIBC = 36
_OLDEST_GLIBC = 5
_UNREACHABLE = re.compile(r"Retrying \(|connection error|ConnectTimeout|NewConnectionError|Name or service not known")
_NO_WHEEL = re.compile(  # the second if the requirement is constrained too: two packages that conflict are two words
    r"No matching distribution found for (?P<requirement>[^\n]+)|Cannot install (?P<constrained>[^\s,]+) because"
)
_HASHLESS = re.compile(r"all requirements must have their hashes|Hashes are required in --require-hashes mode")
_LOOKED_FOR = re.compile(r"Collecting (?P<project>[A-Za-z0-9][\w.-]*)|Processing .*?(?P<wheel>[\w.]+)-[^/]*\.whl")
_CONFLICT = re.compile(r"    (?P<conflict>\S+ \S+ depends on \S.*)")
_SHOWN_CONFLICTS = 4
_OTHER_BYTES = "DO NOT MATCH THE HASHES"


def run_pip(requirements: Path, machine: str, *options: str, progress: Progress = lambda _: None) -> None:
    """`pip install` of the requirements for `machine` (such as x86_64); `progress` receives each requested project.

    Raises ImageError that names the requirement if the reason is known, and ends with pip's own last lines.
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
    """As `_reason`, if pip found no set of wheels: a package that has none at all looks to pip like a conflict."""
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
        return "; a requirement has no hash", "harness image build NAME --lock writes them from requirements.in"
    if _OTHER_BYTES in printed:
        again = "harness image build NAME --lock pins anew, if the new one is wanted"
        return "; a wheel is not the one that was pinned", again
    if _UNREACHABLE.search(printed):
        return "; no package index answers", "set up pip for an index that this machine reaches (PIP_INDEX_URL)"
    if conflicts:
        return _conflicting(conflicts, machine)
    if missing := _NO_WHEEL.search(printed):
        requirement = (missing["requirement"] or missing["constrained"]).strip()
        name = re.split("[=<>~!;@ ]", requirement)[0]
        return (
            f". No wheel exists for {requirement} (CPython {PYTHON}, {machine}) on the index that pip asks",
            f"pin a version of {name} that has one; or build one, `python3 -m pip wheel --no-deps --wheel-dir wheels"
            f" {name}`, and lock again with PIP_FIND_LINKS=wheels",
        )
    return "", "if pip itself is missing: python3 -m ensurepip"


# Python wheels for images: fetched on the host by hash, and added in a layer with their bytecode.
#
# Nothing is downloaded inside a build: a build has no access to a package index, and a read-only root could not write
# the bytecode later. Scripts that packages install are omitted, because they would name this machine's Python; `python3
# -m` replaces them. Environment markers in the requirements are read for the Python that runs the harness.

_SITE = f"/usr/local/lib/python{PYTHON}/dist-packages"
LISTS = "/usr/local/share/harness/wheels"
"""Where an image keeps the lists of its wheels."""

_EXTRAS = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*\[[^\]]*\]", re.MULTILINE)
"""The extras of a pin, such as `[ws]` in `mcp[ws]==1.30.0`, behind the project's name."""

_DOCKERFILE = f"""ARG BASE
FROM ${{BASE}}
COPY site/ {_SITE}/
COPY lists/ {LISTS}/
RUN python3 -m compileall -q -j 0 {_SITE}
"""


def wheels_digest(requirements: str) -> str:
    """The SHA-256 digest of the requirements."""
    return hashlib.sha256(f"{PYTHON}\n{_DOCKERFILE}\n{requirements}".encode()).hexdigest()


def wheels_context(requirements: str, machine: str, cache: Path, progress: Progress) -> tuple[ContextFile, ...]:
    """The build context of a layer with the wheels; `machine` is the engine's, such as x86_64."""
    folder = cache / "wheels" / f"{wheels_digest(requirements)[:24]}-{machine}"
    if not folder.is_dir():
        progress(f"fetching the wheels of {requirements.count('==')} requirements")
        _fetch(requirements, machine, folder, progress)
    names = sorted(path.name.removesuffix(".dist-info") for path in (folder / "site").glob("*.dist-info"))
    listed = "".join(f"python:{name.replace('-', '=', 1)}\n" for name in names)
    return (
        ContextFile(path="Dockerfile", executable=False, content=_DOCKERFILE.encode()),
        ContextFile(path=f"lists/{wheels_digest(requirements)[:12]}.txt", executable=False, content=listed.encode()),
        *read_files(folder),
    )


def _fetch(requirements: str, machine: str, folder: Path, progress: Progress) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.parent / partial_name("fetching")
    try:
        temporary.mkdir()
        (temporary / "requirements.txt").write_text(requirements, encoding="utf-8")
        _install(temporary / "requirements.txt", temporary / "site", machine, progress)
        (temporary / "requirements.txt").unlink()
        shutil.rmtree(temporary / "site" / "bin", ignore_errors=True)
        if not folder.is_dir():
            # the name is the digest of the content, and a folder of that name is not verified again
            flush_tree(temporary)
            temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _install(requirements: Path, site: Path, machine: str, progress: Progress) -> None:
    # As constraints too: pip otherwise takes the newest release for a requirement with extras (`pydantic[email]>=2`),
    # and then refuses it, because that release has no hash. pip refuses a constraint that names extras itself.
    constraints = requirements.with_name("constraints.txt")
    constraints.write_text(_EXTRAS.sub(r"\1", requirements.read_text(encoding="utf-8")), encoding="utf-8")
    constrained = ("--constraint", str(constraints))
    options = ("--require-hashes", *constrained, "--no-compile", "--target", str(site))
    run_pip(requirements, machine, *options, progress=progress)
    constraints.unlink()


# An image's `requirements.in` locked into `requirements.txt`: names, versions and hashes, and no address.

ASKED, LOCKED = "requirements.in", "requirements.txt"


def lock_requirements(project: Path, name: str, machine: str, progress: Progress) -> Path:
    """Writes the locked requirements of the image `name`, and returns their path.

    The hashes are those of the wheels for `machine`: another machine needs a lock of its own. Raises UsageError if
    nothing is required, ImageError if a requirement has no wheel or no index answers; an old lock is then kept.
    """
    folder = project / "images" / name
    asked = folder / ASKED
    if not is_file(asked):
        raise UsageError(
            f"{asked} is not there", remedy=f"write what the image needs into it, such as: echo kinto > {asked}"
        )
    progress(f"selecting the wheels for {asked}")
    with tempfile.TemporaryDirectory(prefix="harness-lock-") as scratch:
        report = Path(scratch) / "report.json"
        options = ("--dry-run", "--ignore-installed", "--target", scratch, "--report", str(report))
        run_pip(asked, machine, *options, progress=progress)
        lines = sorted(_lines(json.loads(report.read_text(encoding="utf-8")), asked))
    head = f"# Written by `harness image build {name} --lock` from {ASKED}: wheels for CPython {PYTHON} on {machine}.\n"
    write_atomically(folder / LOCKED, (head + "".join(lines)).encode())
    return folder / LOCKED


def _lines(report: Any, asked: Path) -> Iterator[str]:
    for item in report["install"]:
        named, archive = item["metadata"], item["download_info"].get("archive_info", {})
        digest = archive.get("hashes", {}).get("sha256")
        if digest is None:
            raise ImageError(
                f"{asked}: pip reports no hash of {named['name']}", remedy="require it by name and version"
            )
        yield f"{named['name'].lower()}=={named['version']} --hash=sha256:{digest}\n"
