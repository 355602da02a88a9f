"""`harness self-test` finds what works on a machine, what does not, and what it lacks."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.starting import HARNESS, run_command

_BROKEN = """\
from harness.sandbox.local import LocalSandboxProvider

class Broken(LocalSandboxProvider):
    \'\'\'Its programs always succeed.\'\'\'
    name = "broken"

    def start(self, spec, snapshot):
        sandbox = super().start(spec, snapshot)
        run = sandbox.exec
        sandbox.exec = lambda *words, **more: run(*words, **more).model_copy(update={"code": 0})
        return sandbox
"""


def _parts(folder: Path, *words: str, **env: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = run_command("self-test", "--json", *words, folder=folder, env=env, timeout_s=500)
    return done.returncode, {one["sandbox"]: one for one in json.loads(done.stdout)}


@pytest.mark.slow
def test_without_containers_all_of_it_works(tmp_path: Path) -> None:
    status, parts = _parts(tmp_path, "--sandbox", "local")
    assert 0 == status, parts
    assert "works" == parts["local"]["state"]


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.usefixtures("base_image")
def test_in_containers_all_of_it_works(tmp_path: Path) -> None:
    status, parts = _parts(tmp_path, "--sandbox", "docker-warm")
    assert 0 == status, parts
    assert {"works"} == {one["state"] for one in parts.values()}


def test_a_missing_engine_is_named_with_the_remedy(tmp_path: Path) -> None:
    status, parts = _parts(tmp_path, "--sandbox", "docker", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert 3 == status
    assert "absent" == parts["docker"]["state"]
    assert parts["docker"]["remedy"]


@pytest.mark.slow
def test_a_guarantee_that_does_not_hold_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(_BROKEN)
    words = [str(HARNESS), "self-test", "--sandbox", "other:Broken", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    parts = {one["sandbox"]: one for one in json.loads(done.stdout)}
    assert 3 == done.returncode
    assert "fails" == parts["other:Broken"]["state"]
    assert any("missing_program_is_127" in one for one in parts["other:Broken"]["problems"])
