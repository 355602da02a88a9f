"""Who follows the skill `draft-fix` hands over a patch that mends the recordings, and nothing for other themes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.skills.fixing import draft
from tests.cli.skills.following import harness
from tests.cli.skills.planted import write_project
from tests.cli.starting import run_command

LOCAL = ("--sandbox", "local")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A suite under version control, whose case has changed since it was recorded."""
    write_project(tmp_path)
    (tmp_path / ".gitignore").write_text("runs/\n.harness/\n", encoding="utf-8")
    typed(tmp_path, "tool", "refresh", "shop")
    typed(tmp_path, "record", "shop", *LOCAL, "--case", "lazy-1", "--case", "wrong-1")
    path = tmp_path / "suites" / "shop" / "cases.yaml"
    cases = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = [{**one, "task": one["task"].replace("101", "555")} if one["id"] == "lazy-1" else one for one in cases]
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Start")
    typed(tmp_path, "run", "shop", *LOCAL, "--run-name", "after", "--case", "lazy-1", "--case", "wrong-1")
    return tmp_path


def typed(folder: Path, *words: str) -> str:
    done = run_command(*words, folder=folder)
    assert done.returncode in (0, 1, 3), f"{words}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_recordings_that_lack_a_call_are_mended_by_a_patch_and_the_rest_is_left_alone(project: Path) -> None:
    def run(words: list[str]) -> str:
        return typed(project, *words, *(LOCAL if words[2] in ("record", "run") else ()))

    shell = harness(project, run)
    themes: list[dict[str, Any]] = shell(["harness", "themes", "after", "--json"])["themes"]
    drafts = {theme["id"]: draft(project, "shop", "after", theme["id"], shell) for theme in themes}
    (mended,) = [one for one in themes if one["fault"] == "replay_miss"]
    assert len(themes) > 1
    assert [mended["id"]] == [theme for theme, drafted in drafts.items() if drafted is not None]
    drafted = drafts[mended["id"]]
    assert drafted is not None
    assert drafted.proven
    assert ["cassettes/shop/lazy-1.yaml"] == git(project, "diff", "--name-only").split()

    git(project, "checkout", "--quiet", "cassettes")
    git(project, "apply", str(drafted.patch))
    again = typed(project, "run", "shop", *LOCAL, "--run-name", "mended", "--case", "lazy-1", "--json")
    assert [] == json.loads(again)["misses"]
