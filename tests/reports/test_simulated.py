"""The report about simulated users: what was played back, by whose decision, and what was invalid."""

from collections.abc import Callable
from typing import Any

from harness.cli.simulator import lines_of
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.reports.simulated import summarise_users
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial, UserFault, UserReport

Card = Callable[..., Scorecard]


def trial(case: str, **own: Any) -> Trial:
    report = UserReport.model_validate({"kind": "logged", "ended": "script_over", "turns": 4} | own)
    outcome = "finished" if report.invalid is None else "simulator_failed"
    trajectory = Trajectory(trace_id="", agent="talks", version="v1", steps=())
    return Trial(case_id=case, attempt=1, outcome=outcome, trajectory=trajectory, user=report)


def test_messages_that_a_model_let_pass_are_printed_apart(card: Card) -> None:
    cards = [card("a"), card("b")]
    plain = summarise_users([trial("a", replayed=3), trial("b", replayed=3)], cards)
    one = {"log": {}, "agent": {}, "reason": "so", "verdict": "same"}
    entailments = ({**one, "turn": 1}, {**one, "turn": 2}, {**one, "turn": 3, "verdict": "different"})
    asked = summarise_users([trial("a", replayed=3), trial("b", replayed=3, entailments=entailments)], cards)

    assert (0, 2) == (plain.entailed, asked.entailed)
    assert [] == [line for line in lines_of(plain) if "entailment" in line]
    (line,) = [line for line in lines_of(asked) if "entailment" in line]
    assert "100.0 %" in line
    assert ", 2 of them" in line


def test_success_is_given_with_and_without_what_users_invalidated(card: Card) -> None:
    fault = UserFault(turn=3, fault="tool_call", reason="the user calls k-9")
    trials = [trial("a", replayed=3), trial("b", replayed=3, faults=(fault,)), trial("c", replayed=0, turns=4)]
    cards = [card("a"), card("b", None, outcome="simulator_failed"), card("c", False)]

    summary = summarise_users(trials, cards)

    assert (1 / 2, 1 / 3, 6 / 9) == (summary.success, summary.success_with_invalid, summary.replayed)
    assert [("b", 3, "tool_call")] == [(one.case_id, one.turn, one.kind) for one in summary.invalid]
    assert any("b/1 turn 3" in line and "k-9" in line for line in lines_of(summary))


def test_a_run_without_simulated_users_says_how_to_have_them(card: Card) -> None:
    (line,) = lines_of(summarise_users([], [card("a")]))
    assert "--user model" in line


def test_a_logs_messages_after_a_divergence_count_as_not_replayed(card: Card) -> None:
    left = {"turn": 3, "kind": "words", "reason": "so"}
    trials = [
        trial("a", replayed=3, logged=3),
        trial("b", replayed=1, turns=2, logged=5, divergence=left, ended="user_diverged"),
        trial("c", replayed=1, turns=9, logged=5, divergence=left),
    ]
    assert 5 / (3 + 5 + 8) == summarise_users(trials, [card("a")]).replayed


def test_what_is_found_against_users_is_one_judges(card: Card) -> None:
    def judged(model: str, case: str, passed: bool) -> Judgement:
        fields = {"run": "r", "attempt": 1, "trajectory": "t", "rubric": "user_simulator", "rubric_version": "1"}
        fields |= {"rubric_digest": "d", "criterion": "kept", "criterion_version": "1", "eligible": True}
        judge = JudgeIdentity(prompt="judge", prompt_version="1", prompt_digest="p", model=model)
        return Judgement.model_validate(fields | {"case_id": case, "passed": passed, "judge": judge})

    every = [judged("one", "a", False), judged("one", "b", False), judged("two", "b", False)]
    summary = summarise_users([trial("a"), trial("b")], [card("a"), card("b")], every)

    assert ["b"] == [one.case_id for one in summary.judged], "the judge that answered last found nothing against a"
    assert any("two judge@1" in line for line in lines_of(summary))
