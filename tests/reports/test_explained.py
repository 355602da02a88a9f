"""A trial explained step by step: its outcome, the cause, what each step did, and the findings at their steps."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.render.trajectory import explained
from harness.runs.store.beside_trials import KeptCause
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import ProgramExit, Trial

Card = Callable[..., Scorecard]
LOOP = Diagnosis(
    failure="loop_trap",
    kind="repeated_call",
    origin_step=1,
    dependent_steps=(2,),
    evidence="find\x1b[2J thrice",
    confidence=0.9,
    version="1",
)


def test_a_trial_is_explained_step_by_step_with_the_finding_at_its_steps(card: Card) -> None:
    def step(index: int, **fields: Any) -> Step:
        call = ToolCall(id=str(index), name="find", arguments={"q": "egg"})
        seen = Observation(call_id=str(index), content={"found": 0}, **fields)
        return Step(index=index, source="agent", calls=(call,), observations=(seen,))

    error = ToolFailure(type="timeout", message="late")
    trajectory = Trajectory(
        trace_id="t",
        agent="a",
        steps=(
            Step(index=0, source="user", message="find\nan egg"),
            step(1),
            step(2, error=error, injected="timeout", replayed="fault"),
        ),
        final_output="none",
    )
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)

    assert list(explained(trial, card("c", False, diagnoses=(LOOP,)))) == [
        "c/1: finished, failed; 1 finding(s)",
        "most probable failure at step 1 (a): loop trap: repeated call: find\\x1b[2J thrice",
        "   0  user: find an egg",
        '   1  agent find({"q": "egg"})',
        '      -> {"found": 0}',
        "  !!  loop trap (repeated call): find\\x1b[2J thrice -> steps 2",
        '   2  agent find({"q": "egg"})',
        '      -> ERROR timeout: late {"found": 0}  [fault, injected timeout]',
        "   !  follows from loop trap of step 1",
        "answer  none",
        "check k  FAILED: as seen",
    ]


def trial(*steps: Step, **fields: Any) -> Trial:
    trajectory = Trajectory(trace_id="t", agent="main", steps=steps, final_output=fields.pop("final_output", None))
    return Trial.model_validate(
        {"case_id": "c", "attempt": 1, "outcome": "finished", "trajectory": trajectory.model_dump(), **fields}
    )


def call(index: int, seen: dict[str, Any] | None = None, **fields: Any) -> Step:
    own = ToolCall(id="1", name="find", arguments={"q": "egg"}, **fields)
    answers = () if seen is None else (Observation.model_validate({"call_id": "1", "content": None, **seen}),)
    return Step(index=index, source="agent", calls=(own,), observations=answers)


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        (Step(index=3, source="agent", message="hello", model="gpt"), ["   3  agent [gpt]: hello"]),
        (Step(index=3, source="agent", message="x", evidence="self_reported"), ["   3  agent (self-reported): x"]),
        (Step(index=3, source="agent"), ["   3  agent"]),
        (
            Step(index=3, source="agent", plan=("find", "add"), thought="first"),
            ["   3  agent", "      plan: find | add", "      thought: first"],
        ),
        (call(12), ['  12  agent find({"q": "egg"})']),
        (call(3, {"content": "egg", "replayed": "exact"}), ["      -> egg"]),
        (call(3, {"content": "egg", "replayed": "volatile_reused"}), ["      -> egg  [volatile reused]"]),
        (call(3, {"evidence": "self_reported"}), ["      ->   [self-reported]"]),
        (call(3, {"error": {"type": "timeout", "message": "late"}}), ["      -> ERROR timeout: late"]),
        (call(3, evidence="self_reported"), ['   3  agent find({"q": "egg"})  [self-reported]']),
        (
            Step(
                index=3, source="agent", message="so", calls=(ToolCall(id="1", name="f", arguments=None, unparsed="{"),)
            ),
            ["   3  agent: so", "       f(not JSON: '{')"],
        ),
    ],
)
def test_a_step_shows_what_it_said_and_did_and_how_its_answers_came(step: Step, lines: list[str], card: Card) -> None:
    shown = list(explained(trial(step), card("c")))
    assert lines == [line for line in shown if line in lines]
    assert "answer  none" in shown


def test_a_cause_by_intervention_stands_above_the_steps(card: Card) -> None:
    cause = KeptCause(
        case_id="c", attempt=1, symptom="no egg", steps=(2,), kinds=("answer",), words="the answer", mended=3,
        repeats=4, p_value=0.0456,
    )  # fmt: skip
    plain = list(explained(trial(), card("c", False), cause=cause))
    assert [
        "cause by intervention at step 2: the answer",
        "    symptom: no egg",
        "    with the change it succeeds in 3 of 4; against chance p = 0.046",
    ] == plain[1:4]
    forked = cause.model_copy(update={"steps": (2, 5), "fork": ".variants/f"})
    shown = list(explained(trial(), card("c", False), cause=forked))
    assert "cause by intervention at steps 2, 5: the answer" == shown[1]
    assert shown[4].endswith("harness explain .variants/f c")
    assert not any("intervention" in line for line in explained(trial(), card("c", False)))


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"code": 0}, "program  exit status 0"),
        ({"code": 2, "timed_out": True}, "program  exit status 2, stopped at the time limit"),
        ({"code": None, "signal": 9}, "program  signal 9"),
    ],
)
def test_the_end_of_the_program_and_of_its_services_stands_below_the_steps(
    ended: dict[str, Any], said: str, card: Card
) -> None:
    exit_ = ProgramExit(stderr="a\n\nb\n", stderr_bytes=5, **ended)
    shown = list(explained(trial(exit=exit_, service_logs={"desk": "x\ny", "mute": ""}), card("c")))
    assert [said, "the agent's stderr ended with:", "    a", "    b"] == shown[2:6]
    assert ["    x", "    y"] == shown[7:9]
    assert "    (no output)" == shown[10]
    assert not any("program" in line for line in explained(trial(), card("c")))


def test_a_failure_is_placed_at_its_likeliest_steps_at_most_four_and_a_success_at_none(card: Card) -> None:
    steps = [Step(index=0, source="user", message="x"), *(Step(index=n, source="agent") for n in range(1, 7))]
    steps[2] = Step(index=2, source="agent", agent="helper")
    found = [LOOP.model_copy(update={"origin_step": n, "dependent_steps": ()}) for n in range(7)]
    shown = list(explained(trial(*steps), card("c", False, diagnoses=tuple(found))))
    places = [line.partition(":")[0] for line in shown if " at step " in line]
    assert [
        "most probable failure at step 0 (user)",
        "  or at step 1 (main)",
        "  or at step 2 (helper)",
        "  or at step 3 (main)",
    ] == places
    assert not any(" at step " in line for line in explained(trial(*steps), card("c", True, diagnoses=tuple(found))))
    nothing = list(explained(trial(*steps), card("c", False)))
    assert "most probable step of the failure: cannot tell" in nothing
    assert "most probable step of the failure: cannot tell" not in list(explained(trial(*steps), card("c", None)))


def test_findings_of_the_whole_trial_stand_before_its_steps(card: Card) -> None:
    whole = LOOP.model_copy(update={"origin_step": None, "dependent_steps": (), "evidence": "whole"})
    own = card("c", diagnoses=(whole,), reason="late", outcome="limit_reached")
    plain = list(explained(trial(call(1)), own))
    assert "c/1: limit reached (late), passed; 1 finding(s)" == plain[0]
    assert "!! loop trap (repeated call): whole" in plain


def test_texts_are_cut_where_they_are_longer_than_asked(card: Card) -> None:
    shown = list(explained(trial(Step(index=0, source="user", message="abcdef"), final_output={"é": 1}), card("c"), 4))
    assert ["   0  user: abc…", 'answer  {"é…'] == shown[1:3]
