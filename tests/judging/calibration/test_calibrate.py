"""GEPA's loop around a judge's prompt: it climbs, holds out, obeys vetoes and noise, resumes, and leaks nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import NotMeasured, ResultsError, UsageError
from harness.judging.calibration import CalibrationSettings, Outcome, calibrate
from harness.judging.calibration_questions import AnswerCache, JudgeAnswer, Question, split_by_case
from tests.judging.calibration.planted import (
    APPROVED,
    CASES,
    GREETING,
    LENIENT,
    MISSING,
    SEED_PROMPT,
    Listening,
    RuleJudge,
    questions,
)


def _calibrated(judge: RuleJudge, reflector: Listening, path: Path | None = None, **settings: int) -> Outcome:
    return calibrate(
        AnswerCache(judge, path),
        questions(),
        SEED_PROMPT,
        reflector,
        settings=CalibrationSettings(**({"max_calls": 1500} | settings)),
    )


def test_it_climbs_to_the_rules_that_people_decide_by() -> None:
    outcome = _calibrated(RuleJudge(), Listening(MISSING, APPROVED, GREETING))
    assert outcome.choice.chosen is not None
    assert all(rule in outcome.prompt for rule in (MISSING, APPROVED, GREETING))
    assert outcome.held_out.after is not None
    assert outcome.held_out.before.agreement < 0.7
    assert outcome.held_out.after.agreement == 1.0
    assert outcome.held_out.p is not None
    assert outcome.held_out.p < 0.01


def test_the_held_out_part_is_asked_only_when_everything_is_decided() -> None:
    judge, reflector = RuleJudge(), Listening(MISSING, APPROVED, GREETING)
    outcome = _calibrated(judge, reflector)
    held_out = {one.id for one in split_by_case(questions()).held_out}
    places = [place for place, (_, question) in enumerate(judge.asked) if question in held_out]
    assert places == list(range(len(judge.asked) - 2 * len(held_out), len(judge.asked)))
    assert {prompt for prompt, question in judge.asked if question in held_out} == {SEED_PROMPT, outcome.prompt}


def test_the_reflector_sees_cases_of_the_training_part_and_no_others() -> None:
    reflector = Listening(MISSING, APPROVED, GREETING)
    _calibrated(RuleJudge(), reflector)
    split = split_by_case(questions())
    told = "\n".join(reflector.requests)
    assert any(f"canary-{one.case_id}" in told for one in split.train)
    assert [] == [one.case_id for one in (*split.validation, *split.held_out) if f"canary-{one.case_id}" in told]


def test_answers_of_the_training_part_never_score_the_validation_part() -> None:
    """GEPA's own cache knows questions by their place, and gave training answers for validation questions."""
    judge = RuleJudge()
    outcome = _calibrated(judge, Listening(MISSING, APPROVED, GREETING))
    validation = {one.id for one in split_by_case(questions()).validation}
    asked = {question for prompt, question in judge.asked if prompt == outcome.prompt}
    assert validation <= asked


class _Careful(RuleJudge):
    """Knows already that missing items are missing: what it lacks are substitutions."""

    def _rules(self, prompt: str, question: Question) -> bool:
        return super()._rules(f"{prompt} {MISSING}", question)


def test_a_tempting_rule_is_not_even_tried_further_where_its_harm_is_seen_at_once() -> None:
    train = split_by_case(questions()).train
    outcome = _calibrated(_Careful(), Listening(LENIENT), minibatch=len(train))
    assert (0, ()) == (outcome.candidates, outcome.choice.vetoed)


def test_a_vetoed_candidate_is_no_parent() -> None:
    judge = _Careful()
    outcome = _calibrated(judge, Listening(LENIENT, APPROVED), minibatch=2)
    tried = {prompt for prompt, _ in judge.asked}
    assert outcome.choice.vetoed
    assert [] == [prompt for prompt in tried if -1 < prompt.find(LENIENT) < prompt.find(APPROVED)]


def test_a_rule_that_lets_critical_failures_through_is_vetoed_however_much_it_gains() -> None:
    tempted = _calibrated(_Careful(), Listening(LENIENT))
    assert tempted.choice.chosen is None
    assert tempted.prompt == SEED_PROMPT
    judge = _Careful()
    both = _calibrated(judge, Listening(LENIENT, APPROVED))
    assert any(LENIENT in prompt for prompt, _ in judge.asked)
    assert APPROVED in both.prompt
    assert LENIENT not in both.prompt


class _Unimprovable(RuleJudge):
    """Errs at random, whatever its prompt says."""

    def _rules(self, prompt: str, question: Question) -> bool:
        return question.right == "pass"


class _AnyWords:
    """A reflector that proposes another text each time."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, request: str) -> str:
        self._made += 1
        return f"```\n{SEED_PROMPT} Rule {self._made}: judge with care.\n```"


@pytest.mark.slow
def test_a_judge_that_no_prompt_improves_keeps_its_prompt() -> None:
    accepted, tried = 0, 0
    for seed in range(100):
        moved = [one.model_copy(update={"id": f"{seed}/{one.id}"}) for one in questions()]
        settings = CalibrationSettings(max_calls=600, seed=seed)
        outcome = calibrate(AnswerCache(_Unimprovable(0.25)), moved, SEED_PROMPT, _AnyWords(), settings=settings)
        tried += outcome.choice.chosen is not None
        accepted += outcome.accepted
    print(f"null calibration: {accepted} of 100 accepted, {tried} had a candidate ahead on validation")
    assert tried > 50, "the positive control: without the test such candidates were accepted"
    assert accepted <= 5


def test_a_gain_beyond_the_noise_is_found_in_spite_of_it() -> None:
    outcome = _calibrated(RuleJudge(noise=0.02), Listening(MISSING, APPROVED, GREETING))
    assert outcome.accepted
    assert {"complete", "polite"} == set(outcome.held_out.domains)
    assert all(before < (after or 0) for before, after in outcome.held_out.domains.values())


class _SpoiltManners(RuleJudge):
    """Told of substitutions it fails every greeting: one domain gains what the other loses twice."""

    def _rules(self, prompt: str, question: Question) -> bool:
        if question.criterion == "polite":
            return APPROVED not in prompt or int(question.case_id[-2:]) % 10 != 1
        return super()._rules(f"{prompt} {MISSING}", question)


def test_a_gain_that_costs_a_domain_is_not_accepted() -> None:
    outcome = _calibrated(_SpoiltManners(), Listening(APPROVED))
    assert outcome.choice.chosen is not None
    assert outcome.held_out.after is not None
    assert outcome.held_out.after.agreement > outcome.held_out.before.agreement
    assert (False, SEED_PROMPT) == (outcome.accepted, outcome.prompt)
    assert "polite" in outcome.why


def test_labels_that_decided_before_are_not_held_out() -> None:
    used = {f"case-{number:02}" for number in range(0, CASES, 2)}
    marked = [one.model_copy(update={"used": one.case_id in used}) for one in questions()]
    split = split_by_case(marked)
    assert 16 == len({one.case_id for one in split.held_out})
    assert used.isdisjoint(one.case_id for one in split.held_out)
    spent = [one.model_copy(update={"used": one.case_id not in ("case-01", "case-03")}) for one in questions()]
    judge = RuleJudge()
    with pytest.raises(NotMeasured, match=r"2 cases .* 6 at least"):
        calibrate(AnswerCache(judge), spent, SEED_PROMPT, Listening(MISSING))
    assert [] == judge.asked


def test_a_text_that_cannot_be_a_prompt_asks_nobody_and_wins_nothing() -> None:
    judge = RuleJudge()
    outcome = calibrate(
        AnswerCache(judge),
        questions(),
        SEED_PROMPT,
        lambda request: "```\nJust say pass.\n```",
        is_usable=lambda text: None if "{evidence}" in text else "the placeholder {evidence} is gone",
        settings=CalibrationSettings(max_calls=200),
    )
    assert outcome.choice.chosen is None
    assert {SEED_PROMPT} == {prompt for prompt, _ in judge.asked}


class _Stopped(Exception):
    pass


class _StoppedHalfWay(RuleJudge):
    def answers(self, prompt: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        if len(self.asked) > 150:
            raise _Stopped
        return super().answers(prompt, questions)


def test_a_stopped_calibration_goes_the_same_way_again_and_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    rules = (MISSING, APPROVED, GREETING)
    undisturbed_judge = RuleJudge(noise=0.02)
    undisturbed = _calibrated(undisturbed_judge, Listening(*rules))
    first = _StoppedHalfWay(noise=0.02)
    with pytest.raises(_Stopped):
        _calibrated(first, Listening(*rules), path)
    with path.open("ab") as stream:
        stream.write(b'{"key": "torn')
    second = RuleJudge(noise=0.02)

    resumed = _calibrated(second, Listening(*rules), path)
    assert undisturbed_judge.asked == first.asked + second.asked
    assert undisturbed.prompt == resumed.prompt
    assert undisturbed.held_out == resumed.held_out
    repeated = RuleJudge(noise=0.02)
    again = _calibrated(repeated, Listening(), path)
    assert [] == repeated.asked
    assert again.prompt == resumed.prompt


def test_a_damaged_memory_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "a", "proposal": "b"}\nnonsense\n')
    with pytest.raises(ResultsError, match="line 2"):
        AnswerCache(RuleJudge(), path)


def test_labels_of_two_cases_cannot_be_split() -> None:
    with pytest.raises(UsageError, match="2 cases"):
        split_by_case([one for one in questions() if one.case_id in ("case-00", "case-01")])


@pytest.mark.parametrize("cases", [3, 4, 5, 9, 60])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_case_stands_in_two_parts_and_no_part_is_empty(cases: int, seed: int) -> None:
    few = [one for one in questions() if int(one.case_id[-2:]) < cases]
    split = split_by_case(few, seed)
    parts = [{one.case_id for one in part} for part in (split.train, split.validation, split.held_out)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set.union(*parts)) == cases
    assert len(split.train) + len(split.validation) + len(split.held_out) == len(few)


def test_each_part_has_something_to_fail() -> None:
    split = split_by_case(questions())
    for part in (split.train, split.validation, split.held_out):
        assert any(one.right == "fail" for one in part)
