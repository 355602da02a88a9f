"""The conformance checks of the executor seam, which run against any executor.

To check an executor of your own, call `check_executor("my_package:open_mine", folder)` and read the results that are
not None. Programs run in the sandbox `local`, so that no container engine is needed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import HarnessError
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.plan.planning import plan_of
from harness.pipeline.plan.run_options import RunOptions
from harness.pipeline.run import Watch, run_plan
from harness.plugins import described
from harness.results import PlannedTrial, RunFolder
from harness.score import Scorecard
from harness.trace import Trial

_CASES = 4
_ATTEMPTS = 2
_SETTLED_S = 1.5
"""Longer than a trial of these checks takes: what still ran would have ended by then."""

_SUITE = """\
agents: {v1: {files: agents/v1, command: [python3, "{agent}/main.py"]}}
cases: cases.yaml
"""
_AGENT = """\
import json, os, sys, time, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, data)) as answer:
        return json.loads(answer.read() or b"null")

task = ask("/turn")["message"]
time.sleep(0.3)
if task == "Crash.":
    sys.exit(3)
ask("/reply", {"message": task.upper()})
"""


class _NotConforming(Exception):
    """The executor does not conform; the message describes its behaviour."""


class _Stopped(Exception):
    """Ends a run from outside."""


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """What is checked: an executor's name, and a project for its runs."""

    executor: str
    project: Path

    def plan(self, run: str, executor: str | None = None) -> RunPlan:
        options = RunOptions(
            suite="conformance",
            sandbox="local",
            executor=executor or self.executor,
            trials=_ATTEMPTS,
            jobs=2,
            run_name=run,
        )
        return plan_of(self.project, options)


def every_planned_trial_is_committed_once(subject: _Subject) -> None:
    plan, finished = subject.plan("once"), list[tuple[str, int]]()

    def note(trial: Trial, _card: Scorecard) -> None:
        finished.append((trial.case_id, trial.attempt))

    folder = run_plan(plan, Watch(finished=note))
    wanted = sorted(_key(one) for one in plan.own)
    _expect("trials that were reported as ended", sorted(finished), wanted)
    _expect("trials in the run folder", sorted(folder.finished()), wanted)


def its_results_are_those_of_local(subject: _Subject) -> None:
    own = run_plan(subject.plan("own"), Watch())
    local = run_plan(subject.plan("local", "local"), Watch())
    _expect("digests and outcomes of the trials", _results(own), _results(local))


def what_an_agent_does_wrong_is_data(subject: _Subject) -> None:
    folder = run_plan(subject.plan("data"), Watch())
    outcomes = {_result(one)[0]: _result(one)[1] for one in folder.scorecards()}
    _expect("the outcome of an agent that crashes", outcomes[("crash", 1)], "agent_failed")
    _expect("the outcome of an agent that answers", outcomes[("case-1", 1)], "finished")


def a_run_that_is_stopped_leaves_nothing_running(subject: _Subject) -> None:
    folder = _stopped(subject, "stopped")
    done = RunFolder.open(folder).finished()
    time.sleep(_SETTLED_S)
    _expect("trials committed after the run had ended", sorted(RunFolder.open(folder).finished() - done), [])
    if len(done) == _CASES * _ATTEMPTS:
        raise _NotConforming("expected trials to be taken in turn, found all of them run when the first had ended")


def a_stopped_run_can_go_on(subject: _Subject) -> None:
    path = _stopped(subject, "resumed")
    before = RunFolder.open(path).finished()
    again: list[tuple[str, int]] = []
    plan = replace(subject.plan("resumed"), resumes=path)
    folder = run_plan(plan, Watch(finished=lambda trial, _: again.append((trial.case_id, trial.attempt))))
    _expect("trials that were run twice", sorted(set(again) & before), [])
    _expect("trials in the run folder", sorted(folder.finished()), sorted(_key(one) for one in plan.own))


CHECKS: tuple[Callable[[_Subject], None], ...] = (
    every_planned_trial_is_committed_once,
    its_results_are_those_of_local,
    what_an_agent_does_wrong_is_data,
    a_run_that_is_stopped_leaves_nothing_running,
    a_stopped_run_can_go_on,
)


def check_executor(executor: str, folder: Path) -> dict[str, str | None]:
    """Runs every check in a project that is written to the empty `folder`; name of the check -> what is wrong, or None.

    `executor` is a name as `--executor` takes it: of an entry point, or `module:name`.
    """
    subject = _Subject(executor=executor, project=_project(folder))
    found: dict[str, str | None] = {}
    for check in CHECKS:
        try:
            check(subject)
        except _NotConforming as problem:
            found[check.__name__] = str(problem)
        except HarnessError as error:
            found[check.__name__] = f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001  # a plug-in's own code
            found[check.__name__] = described(error)
        else:
            found[check.__name__] = None
    return found


def _project(folder: Path) -> Path:
    suite = folder / "suites" / "conformance"
    (suite / "agents" / "v1").mkdir(parents=True)
    (suite / "suite.yaml").write_text(_SUITE, encoding="utf-8")
    (suite / "agents" / "v1" / "main.py").write_text(_AGENT, encoding="utf-8")
    cases = [f"- {{id: case-{number}, task: Say {number}.}}\n" for number in range(1, _CASES)]
    (suite / "cases.yaml").write_text("".join(["- {id: crash, task: Crash.}\n", *cases]), encoding="utf-8")
    return folder


def _stopped(subject: _Subject, run: str) -> Path:
    """The folder of a run that was ended when its first trial had."""

    def stop(_trial: Trial, _card: Scorecard) -> None:
        raise _Stopped

    plan = subject.plan(run)
    try:
        run_plan(plan, Watch(finished=stop))
    except _Stopped:
        return plan.runs / run
    raise _NotConforming("expected the exception that ended the run, found that the run went on")


def _results(folder: RunFolder) -> list[tuple[tuple[str, int], str, str]]:
    return sorted(_result(card) for card in folder.scorecards())


def _result(card: Scorecard) -> tuple[tuple[str, int], str, str]:
    return (card.case_id, card.attempt), card.outcome, card.digest


def _key(planned: PlannedTrial) -> tuple[str, int]:
    return planned.case_id, planned.attempt


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _NotConforming(f"{what}: expected {wanted!r}, found {found!r}")
