"""How a workflow installs the harness: from a place that the project chose, every file by its hash."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.cli.own_wheel import WHEEL_NAME, own_wheel
from harness.distribution import DISTRIBUTION
from harness.errors import UsageError

PLACE = ".github/harness"
_DEPENDENCIES = Path(__file__).parent / "template_github" / "requirements.txt"
_REQUIREMENTS = f"{PLACE}/requirements.txt"
_COMMIT = re.compile(r"git\+(https|ssh)://[^\s'\"#@]+(?:@[^\s'\"#@/]+/[^\s'\"#@]+)?@[0-9a-f]{40}")
_HASHED_URL = re.compile(r"(https://[^\s'\"#]+\.whl)#sha256=([0-9a-f]{64})")
_WHEEL_FILE = re.compile(rf"{DISTRIBUTION.replace('-', '_')}-[\w.!+]+-py3-none-any\.whl")
_HASHED = f"python -m pip install --require-hashes -r {_REQUIREMENTS}"


@dataclass(frozen=True)
class Installation:
    """`commands`: the lines of the workflow's step. `files`: what to commit for it, by path in the repository."""

    commands: tuple[str, ...]
    files: Mapping[str, bytes]


def installation(spec: str | None) -> Installation:
    """What installs the harness in a workflow.

    `spec`: a wheel file, which is copied beside the requirements; `https://...whl#sha256=HASH`; or
    `git+https://...@COMMIT` with all 40 digits. None: a wheel of the running installation.

    Raises UsageError for anything else: a bare name would install whatever an index holds under it.
    """
    if spec is None:
        return _of_wheel(WHEEL_NAME, own_wheel())
    if _COMMIT.fullmatch(spec):
        source = f'python -m pip install --no-deps --no-build-isolation "{DISTRIBUTION} @ {spec}"'
        return Installation((_HASHED, source), {_REQUIREMENTS: _DEPENDENCIES.read_bytes()})
    if hashed := _HASHED_URL.fullmatch(spec):
        return _of_requirement(f"{DISTRIBUTION} @ {hashed[1]} --hash=sha256:{hashed[2]}", {})
    path = Path(spec)
    if _WHEEL_FILE.fullmatch(path.name) and path.is_file():
        return _of_wheel(path.name, path.read_bytes())
    raise UsageError(
        f"--install {spec!r} is no place that can be held to a hash",
        remedy=f"a wheel file ({WHEEL_NAME}), https://...whl#sha256=HASH, or git+https://...@COMMIT with 40 digits",
    )


def _of_wheel(name: str, content: bytes) -> Installation:
    place = f"{PLACE}/{name}"
    return _of_requirement(f"./{place} --hash=sha256:{hashlib.sha256(content).hexdigest()}", {place: content})


def _of_requirement(line: str, files: Mapping[str, bytes]) -> Installation:
    return Installation((_HASHED,), {**files, _REQUIREMENTS: _DEPENDENCIES.read_bytes() + f"{line}\n".encode()})
