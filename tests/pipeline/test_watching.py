"""`harness run --watch`: which files have changed, and which cases that affects."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.runs.watching import FileWatch, WatchedSuite, affected_cases, different, watch_of, watched_suite

SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agents/v1, prompts: [prompt.txt]}
  v2: {command: [python3, "{agent}/main.py"], files: agents/v2}
cases: [cases.yaml, more.yaml]
checks: [{name: said, verifier: "checks.py:Said"}]
"""
CHECKS = """\
from typing import ClassVar

from harness.api import Evidence, Frozen


class Said(Frozen):
    version: ClassVar[str] = "1"

    def verify(self, evidence: Evidence) -> tuple[bool, str, dict]:
        return True, "it did", {}
"""
FILES = {
    "suites/s/suite.yaml": SUITE,
    "suites/s/cases.yaml": "- {id: a, task: Say hello}\n- {id: b, task: Say goodbye}\n",
    "suites/s/more.yaml": """\
- {id: c, task: Say more, checks: [{name: own, verifier: "own.py:Said"}]}
""",
    "suites/s/checks.py": CHECKS,
    "suites/s/own.py": CHECKS,
    "suites/s/words.txt": "hello",
    "suites/s/rubrics/manner.yaml": "name: manner\ncriteria: [{id: kind, statement: It is kind.}]\n",
    "suites/s/agents/v1/main.py": "print('hello')\n",
    "suites/s/agents/v1/prompt.txt": "Be kind.\n",
    "suites/s/agents/v2/main.py": "print('hello')\n",
    "cassettes/s/b.yaml": "interactions: []\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path.resolve()


def write(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def state(project: Path) -> WatchedSuite:
    suite = watched_suite(project, "s", None, {}).suite
    return watched_suite(project, "s", None, watch_of(project, suite, replayed=True).contents())


@pytest.mark.parametrize(
    ("name", "text", "affected"),
    [
        ("suites/s/agents/v1/main.py", "print('goodbye')\n", "abc"),
        ("suites/s/agents/v1/prompt.txt", "Be brief.\n", "abc"),
        ("suites/s/agents/v2/main.py", "print('goodbye')\n", ""),
        ("suites/s/cases.yaml", FILES["suites/s/cases.yaml"].replace("hello", "hi"), "a"),
        ("suites/s/cases.yaml", "# a comment\n" + FILES["suites/s/cases.yaml"], ""),
        ("suites/s/cases.yaml", FILES["suites/s/cases.yaml"] + "- {id: d, task: Sing}\n", "d"),
        ("suites/s/own.py", CHECKS + "# changed\n", "c"),
        ("suites/s/checks.py", CHECKS + "# changed\n", "abc"),
        ("suites/s/suite.yaml", SUITE + "gates: {fail_under: {task_success: 1}}\n", ""),
        ("suites/s/suite.yaml", SUITE + "limits: {steps: 3}\n", "abc"),
        ("suites/s/suite.yaml", SUITE + "default_agent: v2\n", "abc"),
        ("suites/s/suite.yaml", SUITE.replace("files: agents/v1,", "files: agents/v1, env: {A: b},"), "abc"),
        ("suites/s/words.txt", "goodbye", "abc"),
        ("suites/s/rubrics/manner.yaml", "name: manner\ncriteria: [{id: k, statement: It is.}]\n", ""),
        ("cassettes/s/b.yaml", "interactions: [] # again\n", "b"),
        ("suites/s/.words.txt.swp", "what an editor writes", ""),
    ],
)
def test_a_change_affects_the_cases_that_depend_on_it(project: Path, name: str, text: str, affected: str) -> None:
    before = state(project)
    write(project, name, text)
    assert tuple(affected) == affected_cases(project, before, state(project))


def test_cassettes_that_a_run_writes_are_not_watched(project: Path) -> None:
    suite = state(project).suite
    assert project / "cassettes/s/b.yaml" not in watch_of(project, suite, replayed=False).contents()


def test_a_file_that_is_only_touched_has_not_changed(project: Path) -> None:
    watch = FileWatch([project / "suites"])
    before = watch.contents()
    os.utime(project / "suites/s/cases.yaml", (1, 1))
    assert [] == different(before, watch.contents())


def scripted(*steps: Callable[[], object]) -> Callable[[float], None]:
    """In place of a pause, the next step; without one the test would wait for ever."""
    left = list(steps)

    def pause(_: float) -> None:
        left.pop(0)()

    return pause


def test_a_change_is_told_when_the_files_have_come_to_rest(project: Path) -> None:
    watch = FileWatch([project / "suites"])
    before = watch.contents()
    case, agent = project / "suites/s/cases.yaml", project / "suites/s/agents/v1/main.py"
    pause = scripted(
        lambda: None,
        lambda: case.write_text("- {id: a}\n"),
        lambda: agent.write_text("print()\n"),
        lambda: None,
    )
    assert [agent, case] == different(before, watch.changed_from(before, pause))


def test_a_change_that_is_taken_back_at_once_is_none(project: Path) -> None:
    watch = FileWatch([project / "suites"])
    before = watch.contents()
    words = project / "suites/s/words.txt"
    pause = scripted(
        lambda: words.write_text("x"),
        lambda: words.write_text("hello"),
        words.unlink,
        lambda: None,
    )
    assert [words] == different(before, watch.changed_from(before, pause))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--resume", "r"), "cannot be combined with --resume"),
        (("s", "--run-name", "r"), "cannot be combined with --run-name"),
        (("s", "--faults", "all"), "cannot be combined with --faults"),
        ((), "name a suite to watch"),
        (("s", "--agent", "v3"), "has no agent 'v3'"),
    ],
)
def test_what_cannot_be_watched_is_refused(project: Path, words: tuple[str, ...], told: str) -> None:
    done = CliRunner().invoke(harness, ["--project", str(project), "run", *words, "--watch", "--sandbox", "local"])
    assert isinstance(done.exception, UsageError)
    assert told in str(done.exception)
