"""A whole calibration: split, measure, propose, choose, and evaluate the held-out part once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.judge.lab.calibration.answer_cache import AnswerCache
from harness.judge.lab.calibration.choice import Choice, choose, paired_p
from harness.judge.lab.calibration.figures import AgreementFigures, figures, score
from harness.judge.lab.calibration.optimizer import IsUsable, Optimizer, any_text
from harness.judge.lab.calibration.question import Question
from harness.judge.lab.calibration.split import Split, split_by_case
from harness.stats import noise_margin
from harness.values import Frozen, digest_of_text

Say = Callable[[str], None]


class Measured(Frozen):
    """The figures of one part of the questions under the current prompt, and under the chosen one."""

    before: AgreementFigures
    after: AgreementFigures | None
    """None: nothing was chosen."""
    p: float | None = None
    """McNemar's exact test; None: no answer changed sides, or nothing was chosen."""


class Outcome(Frozen):
    """The result of a calibration."""

    way: Literal["calibration", "selection"]
    """`selection`: a choice among existing prompts, without proposals."""
    cases: tuple[int, int, int]
    """The number of training, validation and held-out cases."""
    questions: tuple[int, int, int]
    margin: float
    """The margin on validation that a prompt had to exceed: the judge's own noise."""
    candidates: int
    choice: Choice
    prompt: str
    """The chosen text; the current one where none was chosen."""
    validation: Measured
    held_out: Measured
    """The figures of the held-out part, measured once, after all decisions."""
    held_out_digest: str
    calls: int
    """The number of questions that were sent to the judge; the others were cached."""


@dataclass(frozen=True, kw_only=True)
class CalibrationSettings:
    """The settings of a calibration."""

    seed: int = 0
    max_calls: int = 600
    """The number of questions after which no further prompt is proposed."""
    noise_samples: int = 3
    """How often each validation question is sent with the current prompt, to measure the judge's own noise."""
    minibatch: int = 8


def calibrate(
    cache: AnswerCache,
    questions: Sequence[Question],
    prompt: str,
    reflector: Callable[[str], str],
    *,
    is_usable: IsUsable = any_text,
    settings: CalibrationSettings | None = None,
) -> Outcome:
    """Lets `reflector` propose revisions of `prompt` from disagreements, and accepts one or none.

    Raises UsageError for labels of fewer than three cases, and where gepa is not installed.
    """
    used = settings or CalibrationSettings()
    split = split_by_case(questions, used.seed)
    optimizer = Optimizer(cache, is_usable, used.seed, used.minibatch)
    candidates = optimizer.candidates(prompt, split, reflector, used.max_calls)
    return _decided("calibration", cache, split, prompt, candidates, used)


def select(
    cache: AnswerCache,
    questions: Sequence[Question],
    prompts: Sequence[str],
    settings: CalibrationSettings | None = None,
) -> Outcome:
    """Chooses among existing prompts, the first of which is the current one.

    Nothing is trained, so the training part is used for the choice, too.
    """
    used = settings or CalibrationSettings()
    split = split_by_case(questions, used.seed)
    split = Split(train=(), validation=(*split.train, *split.validation), held_out=split.held_out)
    return _decided("selection", cache, split, prompts[0], prompts[1:], used)


def _decided(
    way: Literal["calibration", "selection"],
    cache: AnswerCache,
    split: Split,
    prompt: str,
    candidates: Sequence[str],
    settings: CalibrationSettings,
) -> Outcome:
    margin = _noise(cache, split.validation, prompt, settings.noise_samples)
    by_digest = {digest_of_text(text): text for text in candidates}
    before = _figures(cache, split.validation, prompt)
    found = {digest: _figures(cache, split.validation, text) for digest, text in by_digest.items()}
    choice = choose(before, found, margin)
    chosen = None if choice.chosen is None else by_digest[choice.chosen]
    return Outcome(
        way=way,
        cases=(_cases(split.train), _cases(split.validation), _cases(split.held_out)),
        questions=(len(split.train), len(split.validation), len(split.held_out)),
        margin=margin,
        candidates=len(by_digest),
        choice=choice,
        prompt=chosen or prompt,
        validation=_measured(cache, split.validation, prompt, chosen),
        held_out=_measured(cache, split.held_out, prompt, chosen),
        held_out_digest=split.held_out_digest,
        calls=cache.calls,
    )


def _noise(cache: AnswerCache, questions: Sequence[Question], prompt: str, samples: int) -> float:
    rounds = [_scores(cache, questions, prompt, sample) for sample in range(max(1, samples))]
    return noise_margin(list(zip(*rounds, strict=True)))


def _scores(cache: AnswerCache, questions: Sequence[Question], prompt: str, sample: int = 0) -> list[float]:
    return [score(*pair) for pair in zip(questions, cache.answers(prompt, questions, sample), strict=True)]


def _figures(cache: AnswerCache, questions: Sequence[Question], prompt: str) -> AgreementFigures:
    return figures(questions, cache.answers(prompt, questions))


def _measured(cache: AnswerCache, questions: Sequence[Question], prompt: str, chosen: str | None) -> Measured:
    if chosen is None:
        return Measured(before=_figures(cache, questions, prompt), after=None)
    return Measured(
        before=_figures(cache, questions, prompt),
        after=_figures(cache, questions, chosen),
        p=paired_p(_scores(cache, questions, prompt), _scores(cache, questions, chosen)),
    )


def _cases(questions: Iterable[Question]) -> int:
    return len({question.case_id for question in questions})
