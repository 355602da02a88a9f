"""A Turing test of simulated users: blind pairs, a five-point scale, and what both say."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from harness.cli.annotate import lines_of, shown_text
from harness.cli.main import harness
from harness.errors import HarnessError
from harness.judging.turing import (
    SCALE,
    IntentQuestion,
    PairQuestion,
    TuringAnswer,
    TuringFile,
    conversations_of,
    pairs_of,
    questions_of,
    turing_report,
)
from harness.scoring.statistics.agreement import weighted_kappa
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial


def trial(case: str, *said: str, attempt: int = 1) -> Trial:
    steps = []
    for number, text in enumerate(said):
        steps.append(Step(index=2 * number, source="user", message=text))
        steps.append(Step(index=2 * number + 1, source="agent", message=f"About {case}, {number}: noted."))
    trajectory = Trajectory(trace_id="", agent="talks", version="v1", steps=tuple(steps))
    return Trial(case_id=case, attempt=attempt, outcome="finished", trajectory=trajectory)


REAL = conversations_of("people", [trial("tea", "tea", "hot"), trial("milk", "milk", "cold")], {})
SIMULATED = conversations_of(
    "models",
    [
        trial("milk", "Milk, please.", "Cold. [[END: GOAL REACHED]]"),
        trial("tea", "Tea.", "###STOP###", "Hot."),
        trial("x", "One"),
    ],
    {"milk": "Ask for milk.", "tea": "Ask for tea."},
)
PAIRS = pairs_of(REAL, SIMULATED)


def answers_of(annotator: str, keys: str) -> list[TuringAnswer]:
    told = zip(questions_of(PAIRS, (), annotator), keys, strict=True)
    return [answer for question, key in told if (answer := question.answer(key, annotator)) is not None]


def test_a_conversation_is_shown_beside_one_of_its_own_case_without_what_tells_its_source() -> None:
    assert [("milk", "milk"), ("tea", "tea")] == [(one.simulated.case_id, one.real.case_id) for one in PAIRS]
    shown = json.dumps([turns for pair in PAIRS for turns in pair.simulated.turns])
    assert "END" not in shown
    assert "STOP" not in shown


def test_every_pair_comes_before_any_plan_is_shown() -> None:
    questions = questions_of(PAIRS, (), "ann")

    assert [PairQuestion, PairQuestion, IntentQuestion, IntentQuestion] == [type(one) for one in questions]
    assert questions_of(PAIRS, answers_of("ann", "aa15")[:3], "ann") == questions[3:]
    assert {one.real_is_first("ann") for one in PAIRS for _ in range(3)} <= {True, False}


def test_keys_are_read_as_what_was_shown_and_others_are_no_answer() -> None:
    question = questions_of(PAIRS, (), "ann")[0]
    assert isinstance(question, PairQuestion)
    first, second = question.answer("a", "ann"), question.answer("b", "ann")

    assert first is not None
    assert second is not None
    assert {"real", "simulated"} == {first.taken_for_real, second.taken_for_real}
    assert ("real" if question.real_is_first else "simulated") == first.taken_for_real
    assert question.shown[0] == (PAIRS[0].real if question.real_is_first else PAIRS[0].simulated)
    assert question.answer("x", "ann") is None


def test_the_report_has_the_pass_rate_the_means_and_the_agreement() -> None:
    told = [*answers_of("ann", "uu45"), *answers_of("ben", "uu35")]
    report = turing_report(told)

    assert (4, 0, 4, 0.5) == (report.pairs, report.passed, report.unsure, report.pass_rate)
    assert report.interval is not None
    assert report.interval.low < 0.5 < report.interval.high
    assert {"ann": 4.5, "ben": 4.0} == report.intent
    (people,) = report.people
    assert (("ann", "ben"), 2, 0.5, 1.0) == (people.raters, people.conversations, people.same, people.within_one)
    assert any("50 %" in line and "4 pairs" in line for line in lines_of(report))


def test_quadratic_weights_punish_far_points_more() -> None:
    near, far = [(1, 1), (5, 4), (3, 3)], [(1, 1), (5, 2), (3, 3)]

    assert 1.0 == weighted_kappa([(1, 1), (5, 5)])
    assert (weighted_kappa(near) or 0) > (weighted_kappa(far) or 0)
    assert weighted_kappa([(3, 3), (3, 3)]) is None
    assert weighted_kappa([]) is None


def test_a_broken_line_is_told_and_the_last_answer_counts(tmp_path: Path) -> None:
    file = TuringFile(tmp_path / "labels" / "turing.jsonl")
    first, later = answers_of("ann", "aa15")[2], answers_of("ann", "aa45")[2]
    file.append(first)
    with file.path.open("a") as stream:
        stream.write('{"annotator": "ann"}\n')
    file.append(later)
    found, wrong = file.answers()

    assert [later] == found
    assert 1 == len(wrong)
    assert "line 2" in wrong[0]
    assert 5 == max(SCALE)


@pytest.mark.parametrize(
    "imitation",
    [
        "\n--- conversation B\nuser:  I am a person.",
        "\r\n=== 2 of 2\n\nagent: Hello.",
        "\u2028agent: Hello.",
        "\x85\x0b\x0cagent: Hello.",
        f"{'.' * 33}agent: Hello. {'word ' * 20}",
        "\u6f22" * 17 + "agent: Hello." + "\u6f22" * 40,
        "\t\tagent: Hello.",
    ],
)
def test_no_message_can_imitate_a_heading_or_a_speaker(imitation: str) -> None:
    (shown,) = conversations_of("models", [trial("milk", f"Milk.{imitation}", "Cold.")], {})
    lines = shown_text(shown, width=40).split("\n")

    assert ["user:", "agent:", "user:", "agent:"] == [line.split()[0] for line in lines if line[:1].strip()]
    assert all(cell_len(line) < 40 for line in lines)


def test_a_suite_that_does_not_exist_is_refused_by_its_name(tmp_path: Path) -> None:
    refused = CliRunner().invoke(harness, ["--project", str(tmp_path), "simulator", "turing", "nosuch"])
    assert isinstance(refused.exception, HarnessError)
    assert str(tmp_path / "suites") in str(refused.exception)
    assert "nosuch" in str(refused.exception)
