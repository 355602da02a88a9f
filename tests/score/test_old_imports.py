"""Checks that users wrote before a module got its present name load for one release more, and say what to change."""

import subprocess
from pathlib import Path

import pytest

from tests.commands.starting import HARNESS

CHECK = """
from typing import ClassVar
from {old} import {name}
from harness.api import Frozen

class Said(Frozen):
    version: ClassVar[str] = "1"

    def verify(self, evidence):
        return True, "it is", {{}}
"""


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [("harness.frozen", "JsonObject", "harness.values"), ("harness.score.values", "Evidence", "harness.api")],
)
def test_a_check_with_an_old_import_is_run_and_its_author_is_told(
    tmp_path: Path, old: str, name: str, new: str
) -> None:
    subprocess.run([HARNESS, "init", "."], cwd=tmp_path, capture_output=True, check=True)
    suite = tmp_path / "suites" / "hello"
    (suite / "own.py").write_text(CHECK.format(old=old, name=name))
    with (suite / "suite.yaml").open("a") as file:
        file.write('\nchecks: [{name: said, verifier: "own.py:Said"}]\n')
    words = ["run", "hello", "--sandbox", "local", "--fail-under", "task_success=1"]
    done = subprocess.run([HARNESS, *words], cwd=tmp_path, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    assert 1 == done.stderr.count(f"DeprecationWarning: `{old}`")
    assert new in done.stderr
