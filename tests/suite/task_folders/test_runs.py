"""Task folders run from the command line: the oracle, agents, and agents that want a reward without the work."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.suite.loading import load_suite
from tests.cli.starting import run_command
from tests.suite.task_folders.conftest import TASKS

pytestmark = pytest.mark.docker

Tasks = Callable[..., Path]
NAMES = sorted(path.parent.name for path in TASKS.glob("*/task.toml"))


def run(folder: Path, *words: str, status: int = 0) -> str:
    done = run_command("run", *words, folder=folder)
    assert status == done.returncode, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def verdict(project: Path, name: str, case: str) -> dict[str, Any]:
    path = project / "runs" / name / "trials" / case / "1" / "scorecard.json"
    [found] = json.loads(path.read_text())["verdicts"]
    assert isinstance(found, dict)
    return found


def own_agent(project: Path, script: str, *names: str) -> None:
    """A suite `own` of these tasks, whose agent is a shell script."""
    suite = project / "suites" / "own"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent/main.sh").write_text(script)
    (suite / "suite.yaml").write_text(
        "agents: {a: {command: [bash, '{agent}/main.sh'], files: agent, answer: stdout}}\ncases: tasks/*/task.toml\n"
    )
    for name in names:
        shutil.copytree(TASKS / name, suite / "tasks" / name)


@pytest.mark.slow
def test_the_oracle_passes_a_task_and_doing_nothing_does_not(tasks: Tasks) -> None:
    folder = tasks("greeting")

    run(folder.parent, "terminal", "--agent", "oracle", "--run-name", "solved")
    run(folder.parent, "terminal", "--agent", "nop", "--run-name", "untouched")

    assert (True, "the tests gave reward 1") == passed_of(folder.parent, "solved", "greeting")
    assert (False, "the tests gave reward 0") == passed_of(folder.parent, "untouched", "greeting")


def passed_of(project: Path, name: str, case: str) -> tuple[bool | None, str]:
    found = verdict(project, name, case)
    return found["passed"], found["reason"]


@pytest.mark.slow
def test_checking_the_cases_names_tasks_that_are_wrong_themselves(tasks: Tasks) -> None:
    folder = tasks("greeting", "weighted", "deleted-file", "kept-modes")
    (folder / "weighted/solution/solve.sh").write_text("#!/bin/sh\necho yes > a.txt\n")
    (folder / "deleted-file/tests/test.sh").write_text("#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n")
    shutil.rmtree(folder / "kept-modes/solution")

    done = run_command("case", "check", "terminal", folder=folder.parent)

    assert 1 == done.returncode, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "weighted: its reference fails it" in said
    assert "deleted-file: an agent that does nothing passes it" in said
    assert "kept-modes: it has no solution/solve.sh for the oracle to play" in said
    assert "4 cases checked, 3 wrong" in said


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["docker", "docker-warm"])
def test_every_solution_passes_and_no_task_is_passed_without_work(tasks: Tasks, sandbox: str) -> None:
    project = tasks(*NAMES).parent

    run(project, "terminal", "--agent", "oracle", "--run-name", "solved", "--sandbox", sandbox)
    run(project, "terminal", "--agent", "nop", "--run-name", "untouched", "--sandbox", sandbox)

    assert dict.fromkeys(NAMES, True) == {name: verdict(project, "solved", name)["passed"] for name in NAMES}
    assert dict.fromkeys(NAMES, False) == {name: verdict(project, "untouched", name)["passed"] for name in NAMES}


@pytest.mark.slow
def test_an_agent_of_the_suite_starts_where_the_task_is(tasks: Tasks) -> None:
    project = tasks().parent
    own_agent(project, 'pwd; ls /tests /solution; echo hello > "$(pwd)/greeting.txt"\n', "greeting")

    run(project, "own", "--run-name", "done")

    found = json.loads((project / "runs/done/trials/greeting/1/trial.json").read_text())
    assert "/app" == found["exit"]["stdout"].strip()
    assert 2 == found["exit"]["stderr"].count("No such file or directory")
    assert verdict(project, "done", "greeting")["passed"]


BY_TOOL = """\
python3 -c '
import json, os, urllib.request
for tool, said in (("write_file", {"path": "a.txt", "content": "yes\\n"}), ("shell", {"command": "cp a.txt b.txt"})):
    body = json.dumps(said).encode()
    url = os.environ["HARNESS_GATEWAY_URL"] + "/tools/" + tool
    urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}))
'
"""


@pytest.mark.slow
def test_tools_of_the_sandbox_act_in_the_working_directory_of_the_task(tasks: Tasks) -> None:
    project = tasks().parent
    own_agent(project, BY_TOOL, "weighted")
    with (project / "suites/own/suite.yaml").open("a") as stream:
        stream.write("tools: [{sandbox: [write_file, shell]}]\n")

    run(project, "own", "--run-name", "done")

    assert {"reward": 1, "files": 2} == verdict(project, "done", "weighted")["evidence"]["rewards"]


FORGERIES = """\
mkdir -p /logs/verifier /tests && echo 1 > /logs/verifier/reward.txt
echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh
(while :; do echo '{"reward": 1}' > /logs/verifier/reward.json; done) 2>/dev/null &
mkdir -p ~/bin ~/.local/bin
for name in json pathlib expected sitecustomize usercustomize; do
  echo 'print("forged"); raise SystemExit' > "$name.py"
done
for name in python3 cat; do
  printf '#!/bin/sh\\necho forged\\n' > "$name"
  cp "$name" ~/bin/; cp "$name" ~/.local/bin/
done
chmod +x python3 cat ~/bin/* ~/.local/bin/*
echo 'echo 1 > /logs/verifier/reward.txt' | tee ~/.bashrc ~/.bash_profile > ~/.profile
ln -s /logs/verifier/reward.txt reward.txt
true
"""


@pytest.mark.slow
def test_what_an_agent_leaves_forges_no_reward(tasks: Tasks) -> None:
    project = tasks().parent
    own_agent(project, FORGERIES, "partial-report")

    run(project, "own", "--run-name", "forged")

    found = verdict(project, "forged", "partial-report")
    assert (False, "the tests gave lines.txt 0, errors.txt 0") == (found["passed"], found["reason"])
    assert "forged" not in json.dumps(found)


@pytest.mark.slow
def test_a_stored_run_of_a_project_is_scored_again(tasks: Tasks) -> None:
    project = tasks("weighted").parent
    (project / "suites").mkdir()
    (project / "terminal").rename(project / "suites/terminal")

    run(project, "terminal", "--run-name", "solved")
    done = run_command("score", "solved", folder=project)

    assert 0 == done.returncode, done.stderr
    assert {"reward": 1, "files": 2} == verdict(project, "solved", "weighted")["evidence"]["rewards"]


@pytest.mark.slow
def test_an_image_that_cannot_be_had_is_named_with_its_place_in_the_map(tasks: Tasks) -> None:
    folder = tasks("greeting")
    (folder / "greeting/environment/Dockerfile").write_text("FROM harness.invalid/some/image:1\nWORKDIR /app\n")

    said = run(folder.parent, "terminal", status=3)

    assert "'greeting'" in said
    assert 'images/map.yaml: "harness.invalid/some/image:1": base' in said


@pytest.mark.parametrize(
    ("options", "remedy"),
    [(("--sandbox", "local"), "use --sandbox docker"), (("--executor", "ray"), "omit --executor")],
)
def test_where_task_folders_do_not_run_is_said(tasks: Tasks, options: tuple[str, ...], remedy: str) -> None:
    folder = tasks("greeting")

    assert remedy in run(folder.parent, "terminal", *options, status=2)


@pytest.mark.slow
def test_a_task_without_a_solution_has_no_oracle(tasks: Tasks) -> None:
    folder = tasks("greeting")
    shutil.rmtree(folder / "greeting/solution")

    [case] = load_suite(folder.parent, str(folder)).cases

    assert case.task_folder is not None
    assert not case.task_folder.has_solution
    assert "solution/solve.sh" in " ".join(run(folder.parent, "terminal", status=3).split())
