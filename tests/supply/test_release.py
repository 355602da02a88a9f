"""What `make release` builds: the same bytes each time, accepted by an index, and installed by uvx and pipx.

The installers fetch dependencies, as a user's do.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.supply.release import ROOT, bill_of_materials, build, check, committed, tool

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(wheel, source distribution)."""
    folder = tmp_path_factory.mktemp("release")
    wheel, sdist = build(committed(folder / "source"), folder / "dist", "wheel", "sdist")
    assert (".gz", ".whl") == (sdist.suffix, wheel.suffix)
    return wheel, sdist


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_another_copy_gives_the_same_source_distribution(built: tuple[Path, Path], tmp_path: Path) -> None:
    (again,) = build(committed(tmp_path / "elsewhere" / "deep"), tmp_path / "dist", "sdist")
    assert _digest(built[1]) == _digest(again)


def test_the_source_distribution_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(built[1]) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    (wheel,) = build(source, tmp_path / "dist", "wheel")
    assert _digest(built[0]) == _digest(wheel)


def test_an_index_accepts_both(built: tuple[Path, Path]) -> None:
    check([*built])


def test_a_description_that_cannot_be_shown_is_refused(built: tuple[Path, Path], tmp_path: Path) -> None:
    source = committed(tmp_path / "source")
    project = source / "pyproject.toml"
    project.write_text(project.read_text().replace('readme = "README.md"', 'readme = "README.rst"'))
    (source / "README.rst").write_text("Title\n==\n\n.. nothing:: here\n")
    (sdist,) = build(source, tmp_path / "dist", "sdist")
    with pytest.raises(subprocess.CalledProcessError):
        check([sdist])


def test_the_bill_of_materials_names_each_dependency_and_no_development_tool(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in ("one.json", "two.json"):
        bill_of_materials(built[0], tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    bill = json.loads((tmp_path / "one.json").read_text())
    assert ("CycloneDX", "trial-harness") == (bill["bomFormat"], bill["metadata"]["component"]["name"])
    listed = {canonicalize_name(one["name"]): one["version"] for one in bill["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = {canonicalize_name(Requirement(one).name) for one in project["dependencies"]}
    assert own <= listed.keys()
    assert not {"pytest", "mypy", "hatchling"} & listed.keys()
    locked = (ROOT / "requirements.lock").read_text()
    assert all(f"{name}=={listed[name]}" in locked for name in own)


@pytest.mark.parametrize(
    "words",
    [
        ("uv", "tool", "run", "--python", sys.executable, "--from", "WHEEL", "harness"),
        ("pipx", "run", "--python", sys.executable, "--spec", "WHEEL", "harness"),
    ],
    ids=["uvx", "pipx"],
)
def test_an_installer_of_applications_runs_it(built: tuple[Path, Path], tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [str(tool(words[0])), *(str(built[0]) if word == "WHEEL" else word for word in words[1:])]
    homes = ("HOME", "UV_CACHE_DIR", "UV_TOOL_DIR", "PIPX_HOME", "PIPX_BIN_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME")
    environment = {**os.environ, **{name: str(tmp_path / name.lower()) for name in homes}}
    for verb in (["init", "evals"], ["--project", "evals", "run", "hello", "--sandbox", "local"]):
        done = subprocess.run(
            [*command, *verb], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400
        )
        assert 0 == done.returncode, done.stdout + done.stderr
    assert "100 %" in done.stdout
