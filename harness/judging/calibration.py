"""A whole calibration: split, measure, propose, choose, and evaluate the held-out part once."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import NotMeasured
from harness.judging.calibration_questions import (
    MARK,
    AgreementFigures,
    AnswerCache,
    JudgeAnswer,
    Question,
    Split,
    figures,
    is_false_pass,
    proposed_text,
    score,
    split_by_case,
)
from harness.judging.gepa_loop import FirstError, GepaLoop, Texts, VetoingSelector, batch_of, check_gepa
from harness.scoring.statistics.significance import LEVEL, sign_test
from harness.values import Frozen, digest_of_text

# Chooses a candidate by the validation part, and tests it once on the held-out part.


class Choice(Frozen):
    """The result of choosing among prompts."""

    chosen: str | None
    """None: none of them is better than the current prompt."""
    why: str
    vetoed: tuple[str, ...] = ()
    """Candidates that pass more critical failures than the current prompt."""


def choose(before: AgreementFigures, candidates: Mapping[str, AgreementFigures]) -> Choice:
    """The candidate with the highest validation agreement, the earlier one in a tie, if it is ahead of the current
    prompt and passes the veto: it must not pass more critical failures. Whether it is better is for the held-out part
    to decide.
    """
    vetoed = tuple(name for name, one in candidates.items() if one.critical_false_passes > before.critical_false_passes)
    allowed = {name: one for name, one in candidates.items() if name not in vetoed}
    best = max(allowed, key=lambda name: allowed[name].agreement, default=None)
    if best is None:
        why = "every candidate was vetoed" if vetoed else "no candidate came up"
    elif allowed[best].agreement <= before.agreement:
        best, why = None, "no candidate is ahead on validation"
    else:
        why = f"ahead by {allowed[best].agreement - before.agreement:.3f} on validation"
    return Choice(chosen=best, why=why, vetoed=vetoed)


def paired_p(questions: Sequence[Question], before: Sequence[float], after: Sequence[float]) -> float | None:
    """Exact two-sided sign test over the cases, by their numbers of right answers under two prompts; with one question
    a case it is McNemar's exact test. None if no case changed.

    Cases count, and not questions, because a prompt that changes an answer changes others of the same case with it.
    """
    gains: Counter[str] = Counter()
    for question, then, now in zip(questions, before, after, strict=True):
        gains[question.case_id] += round(now - then)
    return sign_test(sum(gain > 0 for gain in gains.values()), sum(gain < 0 for gain in gains.values()))


_PROMPT = "prompt"
_SHOWN = 4_000
_LEAST_HELD_OUT = 6
"""Cases: with fewer the sign test reaches 5 % whatever changes."""
_REQUEST = """You improve the instructions of a judge: a language model that decides whether an agent's work meets one \
criterion. These are its instructions now:
```
<curr_param>
```

Below are items on which people decided too. Where the judge was wrong, find out which rule it lacks or misreads, and \
write instructions under which it would decide as people do, on these and on items you have not seen. Keep every rule \
that is right. State general rules; do not list the items. How the evidence is given and how the answer must look is \
told to the judge elsewhere.

<side_info>

Give the whole new instructions between ``` marks."""

IsUsable = Callable[[str], str | None]
"""Why a text cannot be the judge's prompt; None: it can."""


class _Adapter:
    """Scores a prompt by labels of people. An unusable prompt scores 0 on every question, without a request."""

    propose_new_texts = None

    def __init__(self, cache: AnswerCache, is_usable: IsUsable, guard: FirstError) -> None:
        self._cache = cache
        self._is_usable = is_usable
        self._guard = guard

    def evaluate(self, batch: list[Question], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        prompt = candidate[_PROMPT]
        problem = self._is_usable(prompt)
        unusable = JudgeAnswer(answer="judge_failed", rationale=problem or "")
        answers = [unusable] * len(batch)
        if problem is None:
            answers = self._guard.run(lambda: self._cache.answers(prompt, batch))
        answered = list(zip(batch, answers, strict=True))
        return batch_of(
            answers, [score(question, answer) for question, answer in answered], answered if capture_traces else None
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, str]]]:
        del candidate
        wrong_first = sorted(eval_batch.trajectories, key=lambda pair: score(*pair))
        return {component: [_feedback(*pair) for pair in wrong_first] for component in components_to_update}


def _feedback(question: Question, answer: JudgeAnswer) -> Mapping[str, str]:
    right = f"People decided: {question.right}{_at(question.step)}."
    notes = "".join(f" {note}" for note in question.notes)
    if score(question, answer):
        verdict = "The judge was right."
    else:
        lenient = " It let through what must fail." if is_false_pass(question, answer) else ""
        verdict = f"The judge was wrong: {answer.answer}{_at(answer.step)}.{lenient}"
    return {
        "Criterion": f"{question.criterion}: {question.statement}",
        "Evidence": answer.shown[:_SHOWN],
        "Judge": f"{answer.answer}: {answer.rationale}",
        "Feedback": f"{right}{notes} {verdict}",
    }


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"


def _is_better(proposal: Any) -> bool:
    """First veto: on the questions just tried, more answers must be correct, and no more critical failures pass."""
    before, after = proposal.eval_before, proposal.eval_after
    if sum(after.scores) <= sum(before.scores):
        return False
    if not before.trajectories or not after.trajectories:
        return True  # the second veto, on validation, follows
    return _critical(after.trajectories) <= _critical(before.trajectories)


def _critical(answered: Sequence[tuple[Question, JudgeAnswer]]) -> int:
    return figures([one for one, _ in answered], [answer for _, answer in answered]).critical_false_passes


class Optimizer:
    """Proposes prompts: uses the training and validation parts, and never the held-out one."""

    def __init__(self, cache: AnswerCache, is_usable: IsUsable, seed: int = 0, minibatch: int = 8) -> None:
        self._cache = cache
        self._is_usable = is_usable
        self._seed = seed
        self._minibatch = minibatch

    def candidates(self, prompt: str, split: Split, reflector: Callable[[str], str], max_calls: int) -> list[str]:
        """Prompts with a better score on their sample, in the order of their proposal, without `prompt` itself.

        Ends after `max_calls` questions (including cached ones), or if no improvement is possible. Raises UsageError
        if gepa is not installed.
        """
        check_gepa()
        guard = FirstError()
        validation = list(split.validation)
        allowed = figures(validation, self._cache.answers(prompt, validation)).critical_false_passes

        def is_vetoed(texts: Texts) -> bool:
            if self._is_usable(texts[_PROMPT]) is not None:
                return True
            answers = self._cache.answers(texts[_PROMPT], validation)
            return figures(validation, answers).critical_false_passes > allowed

        loop = GepaLoop(
            start={_PROMPT: prompt},
            train=split.train,
            validation=validation,
            adapter=_Adapter(self._cache, self._is_usable, guard),
            guard=guard,
            accepts=_is_better,
            selects=VetoingSelector(is_vetoed, self._seed),
            max_evaluations=max_calls,
            minibatch=self._minibatch,
            seed=self._seed,
            reflection={
                "reflection_lm": lambda request: guard.run(
                    lambda: f"{MARK}\n{proposed_text(self._cache.proposal(str(request), reflector)) or ''}{MARK}"
                ),
                "reflection_prompt_template": _REQUEST,
            },
        )
        return [one[_PROMPT] for one in loop.candidates()]


class Measured(Frozen):
    """The figures of one part of the questions under the current prompt, and under the chosen one."""

    before: AgreementFigures
    after: AgreementFigures | None
    """None: nothing was chosen."""
    p: float | None = None
    """`paired_p`; None: no case changed, or nothing was chosen."""
    domains: dict[str, tuple[float, float | None]] = {}
    """Agreement before and after, by domain of the rubric."""

    @property
    def objection(self) -> str | None:
        """Why `after` is not accepted in place of `before`; None: it is."""
        if self.after is None:
            return "nothing was chosen"
        worse = [name for name, (then, now) in self.domains.items() if now is not None and now < then]
        if worse:
            return f"on held-out labels it is worse in {', '.join(worse)}"
        if self.after.critical_false_passes > self.before.critical_false_passes:
            return "on held-out labels it passes more critical failures"
        if self.p is None or self.p > LEVEL or self.after.agreement <= self.before.agreement:
            shown = "no case changed" if self.p is None else f"p {self.p:.2g}"
            return f"on held-out labels it is not better at 5 % ({shown})"
        return None


class Outcome(Frozen):
    """The result of a calibration."""

    cases: tuple[int, int, int]
    """The number of training, validation and held-out cases."""
    questions: tuple[int, int, int]
    candidates: int
    choice: Choice
    prompt: str
    """The accepted text; the current one if none was accepted."""
    validation: Measured
    held_out: Measured
    """The figures of the held-out part, on which only the chosen candidate was tried."""
    accepted: bool
    why: str
    calls: int
    """The number of questions that were sent to the judge; the others were cached."""


@dataclass(frozen=True, kw_only=True)
class CalibrationSettings:
    """The settings of a calibration."""

    seed: int = 0
    max_calls: int = 600
    """The number of questions after which no further prompt is proposed."""
    minibatch: int = 8


def calibrate(
    cache: AnswerCache,
    questions: Sequence[Question],
    prompt: str,
    reflector: Callable[[str], str],
    *,
    is_usable: IsUsable = lambda _: None,
    settings: CalibrationSettings | None = None,
) -> Outcome:
    """Lets `reflector` propose revisions of `prompt` from disagreements, and accepts one or none.

    Raises UsageError for labels of fewer than three cases, or if gepa is not installed, NotMeasured if too few cases
    with unused labels are left to hold out.
    """
    used = settings or CalibrationSettings()
    split = _testable(split_by_case(questions, used.seed))
    optimizer = Optimizer(cache, is_usable, used.seed, used.minibatch)
    candidates = optimizer.candidates(prompt, split, reflector, used.max_calls)
    return decided(cache, split, prompt, candidates)


def _testable(split: Split) -> Split:
    fresh = _cases(split.held_out)
    if fresh < _LEAST_HELD_OUT:
        raise NotMeasured(
            f"{fresh} cases whose labels decided nothing before can be held out, and {_LEAST_HELD_OUT} at least are"
            " needed to find a better prompt at 5 %",
            remedy=f"label {math.ceil(_LEAST_HELD_OUT / 0.3)} cases or more that no calibration or certification used",
        )
    return split


def decided(cache: AnswerCache, split: Split, prompt: str, candidates: Sequence[str]) -> Outcome:
    """The best candidate by validation, tested on the held-out part."""
    by_digest = {digest_of_text(text): text for text in candidates}
    before = _figures(cache, split.validation, prompt)
    found = {digest: _figures(cache, split.validation, text) for digest, text in by_digest.items()}
    choice = choose(before, found)
    chosen = None if choice.chosen is None else by_digest[choice.chosen]
    held_out = _measured_figures(cache, split.held_out, prompt, chosen)
    accepted = held_out.objection is None
    return Outcome(
        cases=(_cases(split.train), _cases(split.validation), _cases(split.held_out)),
        questions=(len(split.train), len(split.validation), len(split.held_out)),
        candidates=len(by_digest),
        choice=choice,
        prompt=chosen if chosen is not None and accepted else prompt,
        validation=_measured_figures(cache, split.validation, prompt, chosen),
        held_out=held_out,
        accepted=accepted,
        why=choice.why if chosen is None or accepted else str(held_out.objection),
        calls=cache.calls,
    )


def _scores(cache: AnswerCache, questions: Sequence[Question], prompt: str) -> list[float]:
    return [score(*pair) for pair in zip(questions, cache.answers(prompt, questions), strict=True)]


def _figures(cache: AnswerCache, questions: Sequence[Question], prompt: str) -> AgreementFigures:
    return figures(questions, cache.answers(prompt, questions))


def _measured_figures(cache: AnswerCache, questions: Sequence[Question], prompt: str, chosen: str | None) -> Measured:
    before = _scores(cache, questions, prompt)
    after = None if chosen is None else _scores(cache, questions, chosen)
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question.domain, []).append(place)
    return Measured(
        before=_figures(cache, questions, prompt),
        after=None if chosen is None else _figures(cache, questions, chosen),
        p=None if after is None else paired_p(questions, before, after),
        domains={
            name: (_mean(before, own), None if after is None else _mean(after, own)) for name, own in places.items()
        },
    )


def _mean(scores: Sequence[float], places: Sequence[int]) -> float:
    return sum(scores[place] for place in places) / len(places)


def _cases(questions: Iterable[Question]) -> int:
    return len({question.case_id for question in questions})


# The result of a calibration, with the names of models and data.


class Calibrated(Frozen):
    """The result of a calibration."""

    outcome: Outcome
    prompt: str
    before: str
    """The version that was current before."""
    after: str | None
    """The new version, which has the label `candidate`; None: no revision was accepted."""
    model: str
    labels: int
    annotators: tuple[str, ...]
    left_out: tuple[str, ...]
    """Descriptions of labels that do not count."""
