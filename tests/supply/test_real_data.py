"""Tests on real trajectories are passed over only where there are none: never where the folder cannot be read."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_data import USED

ROOT = Path(__file__).parents[2]


def checkout(folder: Path) -> Path:
    """What `.ci/run` needs, with a `make` that prints which data its tests would be given."""
    copy = folder / "checkout"
    for name in (".ci/run", "tests/real_data.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    (copy / ".venv/bin").mkdir(parents=True)
    (copy / ".venv/bin/python").symlink_to(sys.executable)
    (folder / "bin").mkdir()
    (folder / "bin/make").write_text('#!/bin/sh\necho "$1 with ${HARNESS_REAL_DATA:-none}"\n')
    (folder / "bin/make").chmod(0o755)
    return copy


def ci(copy: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{copy.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    site = os.pathsep.join(one for one in sys.path if "site-packages" in one)
    own = {"PATH": path, "PYTHONPATH": site, **environment}
    return subprocess.run([copy / ".ci/run"], env=own, capture_output=True, text=True, timeout=60)


def data(folder: Path) -> Path:
    for name in USED:
        (folder / name).mkdir(parents=True)
        (folder / name / "one.json").write_text("{}")
    return folder


def test_the_data_beside_the_checkout_or_the_named_one_is_given_to_the_tests(tmp_path: Path) -> None:
    copy = checkout(tmp_path)
    assert "test with none" in ci(copy).stdout
    beside = data(tmp_path / "shared/data")
    assert f"test with {beside}" in ci(copy).stdout
    named = data(tmp_path / "elsewhere")
    assert f"test with {named}" in ci(copy, HARNESS_REAL_DATA=str(named)).stdout


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["named", "beside", "dangling"])
def test_data_that_is_expected_and_cannot_be_read_fails(tmp_path: Path, broken: str) -> None:
    copy = checkout(tmp_path)
    environment = {"HARNESS_REAL_DATA": str(tmp_path / "absent")} if broken == "named" else {}
    if broken == "beside":
        shutil.rmtree(data(tmp_path / "shared/data") / "tau2")
    if broken == "dangling":
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared/data").symlink_to(tmp_path / "gone")
    done = ci(copy, **environment)
    assert 3 == done.returncode
    assert "real trajectories are expected there" in done.stderr
    assert "test with" not in done.stdout


@pytest.mark.slow
def test_a_test_that_needs_a_part_that_is_missing_fails_and_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    words = ["tests/judging/llmbar", "tests/judging/transcript/test_foreign.py", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT, env={**os.environ, "HARNESS_REAL_DATA": str(tmp_path)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert 1 == done.returncode, done.stdout
    assert re.search(r"llmbar cannot be read \(No such file", done.stdout)
    assert re.search(r"tau2\S* cannot be read \(No such file", done.stdout)
    assert "skipped" not in done.stdout.splitlines()[-1]
