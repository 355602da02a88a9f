"""Users are refused before anything is started, and a run folder names none that is code."""

import json
import shutil
from pathlib import Path

import pytest

import harness
from harness.api import RunOptions, UsageError
from tests.production.walking import harness as command


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("users") / "evals"
    command("init", str(folder), project=folder.parent)
    return folder


def test_a_run_folder_names_no_code(project: Path, tmp_path: Path) -> None:
    harness.run(RunOptions(suite="hello", sandbox="local", run_name="mine"), project=project)
    code, ran = tmp_path / "code.py", tmp_path / "ran"
    code.write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n\ndef make(seat, spec):\n    return None\n")
    path = project / "runs" / "mine" / "manifest.json"
    shutil.rmtree(project / "runs" / "mine" / "trials" / "hello-ada")
    path.write_text(json.dumps({**json.loads(path.read_text()), "users": {"kind": f"{code}:make"}}))

    command("run", "--resume", "mine", status=2, project=project)

    assert not ran.exists()


def test_an_unknown_user_leaves_no_run(project: Path) -> None:
    with pytest.raises(UsageError, match="robot") as refused:
        harness.run(RunOptions(suite="hello", sandbox="local", user="robot", run_name="refused"), project=project)
    assert all(name in str(refused.value.remedy) for name in ("script", "model", "logged"))
    assert not (project / "runs" / "refused").exists()
