"""Every dependency is pinned with hashes, and where it comes from is left to the installer."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = (ROOT / "requirements.lock").read_text(encoding="utf-8")
_LARGEST_NUMBER_OF_OWN = 17
"""Dependencies of an installation without extras: another one has to be worth it."""


def pinned(text: str) -> list[str]:
    """The requirements of a lock, each with its hashes in one line."""
    return text.replace("\\\n", " ").splitlines()


def unpinned(text: str) -> list[str]:
    """Lines that are not a name, one version, perhaps a marker, and at least one hash."""
    form = re.compile(r"^[a-z0-9._-]+==[A-Za-z0-9.+!]+( *;[^#@]*?)?( +--hash=sha256:[0-9a-f]{64})+ *$")
    return [line for line in pinned(text) if line.strip() and not form.match(line)]


def test_every_line_is_a_name_a_version_and_hashes() -> None:
    assert [] == unpinned(LOCKED)
    assert "://" not in LOCKED


@pytest.mark.parametrize(
    "line",
    [
        "click==8.1",
        "click>=8.1 --hash=sha256:" + "0" * 64,
        "click @ file:click.whl --hash=sha256:" + "0" * 64,
        "-i elsewhere",
        "-e .",
    ],
)
def test_a_line_that_is_no_pin_is_found(line: str) -> None:
    assert [line] == unpinned(line)


def test_everything_that_is_asked_for_is_pinned_to_a_version_that_fits() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    asked = [Requirement(line) for group in (project["project"]["dependencies"], *extras) for line in group]
    apart = (ROOT / "tests" / "production" / "chdb.lock").read_text(encoding="utf-8")  # larger than all others together
    lines = [line for text in (apart, LOCKED) for line in pinned(text) if line.strip()]
    versions = {Requirement(line.split(" ")[0].split(";")[0]).name: line for line in lines}
    locked = {canonicalize_name(name): line.split("==")[1].split()[0] for name, line in versions.items()}
    assert [] == [str(one) for one in asked if not one.specifier.contains(locked.get(canonicalize_name(one.name), "0"))]
    assert len(project["project"]["dependencies"]) <= _LARGEST_NUMBER_OF_OWN
