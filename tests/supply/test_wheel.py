"""The wheel is the same bytes whoever builds it, holds everything, and works by itself."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout


@cache
def commit() -> str:
    """One for all tests, whatever is committed meanwhile."""
    return _git("rev-parse", "HEAD").decode().strip()


def built(source: Path, out: Path, umask: int, **env: str) -> Path:
    """A wheel of what is committed, from a copy at `source`."""
    source.mkdir(parents=True)
    packed = _git("archive", commit())
    subprocess.run(["tar", "-x", "-m", "-C", source], input=packed, check=True, umask=umask)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out]
    subprocess.run(command, cwd=source, check=True, capture_output=True, umask=umask, env={**os.environ, **env})
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return built(folder / "source", folder / "out", 0o022)


def test_another_folder_umask_time_and_zone_build_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    other = built(tmp_path / "elsewhere" / "deep", tmp_path / "out", 0o077, TZ="Asia/Kolkata", LC_ALL="C", HOME="/none")
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == hashlib.sha256(other.read_bytes()).hexdigest()


def test_every_committed_file_of_the_package_is_in_it_and_nothing_else(wheel: Path) -> None:
    listed = _git("ls-tree", "-r", "--name-only", commit(), "harness")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert set(listed.decode().splitlines()) == packed


def test_it_works_alone_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are those of this environment, so that nothing has to be fetched."""
    venv.create(tmp_path / "new", with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "new")}))
    site.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = tmp_path / "new" / "bin" / "python"
    install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--force-reinstall",
        "--prefix",
        tmp_path / "new",
    ]
    subprocess.run([python, *install, wheel], check=True, cwd=tmp_path)
    harness = tmp_path / "new" / "bin" / "harness"
    where = subprocess.run([python, "-c", "import harness; print(harness.__file__)"], capture_output=True, cwd=tmp_path)
    assert where.stdout.decode().startswith(str(site))
    for words in (
        ["--version"],
        ["--help"],
        ["init", "evals"],
        ["--project", "evals", "run", "hello", "--sandbox", "local"],
    ):
        done = subprocess.run([harness, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert 0 == done.returncode, done.stdout + done.stderr
    assert "100 %" in done.stdout
