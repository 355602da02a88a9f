"""The README's code blocks, run in their order as a reader would type them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.case.loading import load_suite
from harness.judge.loading import read_rubric
from harness.sandbox.environment import load_environment

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
YAML = [(kind, block) for kind, block in BLOCKS if kind == "yaml"]
LINES = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines() if line]


def test_every_block_says_what_it_is() -> None:
    assert {"sh", "text", "yaml"} >= {kind for kind, _ in BLOCKS}  # `text` is not run: it takes more than one machine


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("make ")])
def test_every_make_target_exists(line: str) -> None:
    dry = subprocess.run(["make", "--dry-run", *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, text=True)
    assert (0, "") == (dry.returncode, dry.stderr)


@pytest.mark.parametrize("block", [block for kind, block in YAML if "\ncriteria:" in block])
def test_every_rubric_loads(tmp_path: Path, block: str) -> None:
    (tmp_path / "rubric.yaml").write_text(block, encoding="utf-8")
    assert read_rubric(tmp_path / "rubric.yaml").criteria


@pytest.mark.parametrize("block", [block for kind, block in YAML if block.startswith("services:")])
def test_every_environment_loads(tmp_path: Path, block: str) -> None:
    (tmp_path / "images" / "e").mkdir(parents=True)
    (tmp_path / "images" / "e" / "environment.yaml").write_text(block, encoding="utf-8")
    assert load_environment(tmp_path, "e").services


@pytest.mark.parametrize(
    "block", [block for kind, block in YAML if "\ncriteria:" not in block and not block.startswith("services:")]
)
def test_every_yaml_block_is_part_of_a_suite_that_loads(tmp_path: Path, block: str) -> None:
    folder = tmp_path / "suites" / "s"
    said = yaml.safe_load(block)
    files = {agent["files"] for agent in said.get("agents", {}).values()} or {"agents/v1"}
    for name in files:
        (folder / name).mkdir(parents=True)
    agents = "" if "agents" in said else "agents: {v1: {command: [x], files: agents/v1}}\n"
    (folder / "suite.yaml").write_text(agents + block, encoding="utf-8")
    (folder / "cases.yaml").write_text("- {id: a, task: t}\n", encoding="utf-8")
    assert 1 == len(load_suite(tmp_path, "s").cases)


@pytest.mark.docker
def test_the_commands_work_in_their_order(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for folder in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(ROOT / folder, project / folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = [line for line in LINES if not line.startswith("make ")]
    assert len(commands) > 10
    for command in commands:
        assert command.startswith("harness "), command
        done = subprocess.run(
            command,
            shell=True,
            cwd=project,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert 0 == done.returncode, f"{command}\n{done.stdout}\n{done.stderr}"
