"""What git is told when it is asked for the release: nothing that it does not need."""

import os
import sys
from pathlib import Path

import pytest

from harness.runs.plan.planning import release_of


def test_git_tells_the_release_and_inherits_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    git = tmp_path / "git"
    git.write_text(
        f"#!{sys.executable}\nimport os\nopen({str(told)!r}, 'w').write(repr(dict(os.environ)))\nprint('v1.2-dirty')\n",
        encoding="utf-8",
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MODEL_KEY", "sk-nobody-else-shall-see-it")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    assert release_of(tmp_path) == "v1.2-dirty"
    assert "GIT_CONFIG_NOSYSTEM" in told.read_text(encoding="utf-8")
    assert "sk-nobody" not in told.read_text(encoding="utf-8")
