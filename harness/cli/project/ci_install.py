"""Commands by which a workflow installs the harness, every file pinned by its hash."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.cli.project.own_wheel import WHEEL_NAME, own_wheel
from harness.distribution import DISTRIBUTION
from harness.errors import UsageError

_DEPENDENCIES = Path(__file__).parent / "template_github" / "requirements.txt"
_REQUIREMENTS = "requirements.txt"
_COMMIT = re.compile(r"git\+(https|ssh)://[^\s'\"#@]+(?:@[^\s'\"#@/]+/[^\s'\"#@]+)?@[0-9a-f]{40}")
_HASHED_URL = re.compile(r"(https://[^\s'\"#]+\.whl)#sha256=([0-9a-f]{64})")
_WHEEL_FILE = re.compile(rf"{DISTRIBUTION.replace('-', '_')}-[\w.!+]+-py3-none-any\.whl")


@dataclass(frozen=True)
class Installation:
    """`commands`: the lines of the workflow's step. `files`: files to commit, by path in the repository."""

    commands: tuple[str, ...]
    files: Mapping[str, bytes]


def installation(spec: str | None, place: str) -> Installation:
    """The installation of the harness in a workflow, from files in the folder `place` of the repository.

    `spec`: a wheel file, which is copied beside the requirements; `https://...whl#sha256=HASH`; or
    `git+https://...@COMMIT` with all 40 digits. None: a wheel of the running installation.

    Raises UsageError for anything else: a bare package name could install any file of an index.
    """
    if spec is None:
        return _of_wheel(WHEEL_NAME, own_wheel(), place)
    if _COMMIT.fullmatch(spec):
        source = f'python -m pip install --no-deps --no-build-isolation "{DISTRIBUTION} @ {spec}"'
        return Installation((_hashed(place), source), {f"{place}/{_REQUIREMENTS}": _DEPENDENCIES.read_bytes()})
    if hashed := _HASHED_URL.fullmatch(spec):
        return _of_requirement(f"{DISTRIBUTION} @ {hashed[1]} --hash=sha256:{hashed[2]}", {}, place)
    path = Path(spec)
    if _WHEEL_FILE.fullmatch(path.name) and path.is_file():
        return _of_wheel(path.name, path.read_bytes(), place)
    raise UsageError(
        f"--install {spec!r} cannot be pinned by a hash",
        remedy=f"a wheel file ({WHEEL_NAME}), https://...whl#sha256=HASH, or git+https://...@COMMIT with 40 digits",
    )


def _of_wheel(name: str, content: bytes, place: str) -> Installation:
    path = f"{place}/{name}"
    digest = hashlib.sha256(content).hexdigest()
    return _of_requirement(f"./{path} --hash=sha256:{digest}", {path: content}, place)


def _of_requirement(line: str, files: Mapping[str, bytes], place: str) -> Installation:
    requirements = _DEPENDENCIES.read_bytes() + f"{line}\n".encode()
    return Installation((_hashed(place),), {**files, f"{place}/{_REQUIREMENTS}": requirements})


def _hashed(place: str) -> str:
    # `--no-deps`: the file is complete; for a requirement with extras pip would take a newer release, without a hash.
    return f"python -m pip install --no-deps --require-hashes -r {place}/{_REQUIREMENTS}"
