"""The check `task_tests`: which rewards pass, and what is not a reward."""

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS
from harness.suite.cases import Case
from harness.suite.checks import task_tests_command
from harness.traces.trajectory import Trajectory
from harness.traces.trial import CommandResult, EndState, ProgramExit, Trial

RULE = {"digest": "d", "timeout_s": 5.0, "env": {"A": "b"}}


def told(
    written: dict[str, str | None], *, timed_out: bool = False, end: EndState | None = None, digest: str = "d"
) -> tuple[bool | None, str]:
    exit_ = ProgramExit(code=1, stdout="", timed_out=timed_out)
    result = CommandResult(digest=task_tests_command({**RULE, "digest": digest}).digest, exit=exit_, written=written)
    trial = Trial(
        case_id="a",
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="t", agent="a", steps=()),
        commands={"tests": result},
        end_state=end,
    )
    evidence = Evidence(case=Case(id="a", task="t"), trial=trial, tools=())
    passed, reason, _ = VERIFIERS["task_tests"].model_validate(RULE).verify(evidence)
    return passed, reason


@pytest.mark.parametrize(
    ("written", "passes"),
    [
        ({"reward.txt": "1\n"}, True),
        ({"reward.txt": "1.5"}, True),
        ({"reward.txt": "0.99"}, False),
        ({"reward.json": '{"reward": 1}'}, True),
        ({"reward.json": "1"}, True),
        ({"reward.json": '{"reward": true}'}, True),
        ({"reward.json": '{"reward": 1, "style": 0}'}, True),
        ({"reward.json": '{"a": 1, "b": 1.0}'}, True),
        ({"reward.json": '{"a": 1, "b": 0.5}'}, False),
        ({"reward.json": '{"reward": 0}', "reward.txt": "1"}, False),
    ],
)
def test_a_reward_of_at_least_one_passes(written: dict[str, str | None], passes: bool) -> None:
    assert passes is told(written)[0]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ({}, "wrote no reward"),
        ({"reward.txt": ""}, "malformed"),
        ({"reward.txt": "yes"}, "malformed"),
        ({"reward.txt": "nan"}, "no finite number"),
        ({"reward.txt": None}, "cannot be read"),
        ({"reward.json": None, "reward.txt": "1"}, "cannot be read"),
        ({"reward.json": "{"}, "malformed"),
        ({"reward.json": "[" * 100_000}, "malformed"),
        ({"reward.json": "{}"}, "holds no reward"),
        ({"reward.json": '{"reward": "1"}'}, "no finite number"),
        ({"reward.json": '{"reward": 1, "b": 1e999}'}, "no finite number"),
        ({"reward.json": '{"reward": 1' + 400 * "0" + "}"}, "no finite number"),
        ({"reward.json": "[1]"}, "no finite number"),
    ],
)
def test_what_is_no_reward_fails(written: dict[str, str | None], reason: str) -> None:
    passed, said = told(written)

    assert passed is False
    assert reason in said


def test_tests_that_do_not_end_fail_whatever_they_wrote() -> None:
    assert (False, "the tests did not end within 5 s") == told({"reward.txt": "1"}, timed_out=True)


def test_the_result_of_other_tests_is_undecided() -> None:
    assert (None, "the test script changed since it was run: run again") == told({"reward.txt": "1"}, digest="other")


def test_an_end_state_that_is_not_whole_is_the_agents_doing() -> None:
    assert told({"reward.txt": "1"}, end=EndState(complete=False, problem="too many files"))[0] is None
