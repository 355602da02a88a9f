"""A changed criterion or prompt tried on a few stored trials, without a trace in the run or in the cassettes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.case import Suite
from harness.errors import UsageError
from harness.judge import (
    CHARS_PER_TOKEN,
    Criterion,
    Judge,
    JudgedTrial,
    Judgement,
    JudgeSettings,
    Panel,
    PanelTask,
    Prompt,
    Rubric,
    judge_request,
    run_panel,
    why_not_eligible,
)
from harness.pipeline.judge.judging import secrets_of
from harness.pipeline.judge.subjects import judged_outcomes, suite_of
from harness.results import RunFolder, TrialKey
from harness.upstream import Budget, ModelClient, ModelClientOptions
from harness.values import Frozen, canonical_json

_ANSWER_TOKENS: Final = 150
"""A verdict with one or two sentences of reasons."""
_MTOK: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class TryRequest:
    """What is tried: one criterion of a rubric, as changed, on some trials."""

    rubric: Rubric
    criterion: str
    prompt: Prompt
    settings: JudgeSettings
    trials: tuple[TrialKey, ...]
    budget: Budget | None = None
    watch: Callable[[Judgement], None] = field(default=lambda _: None)


class TryEstimate(Frozen):
    """What a try is expected to cost. Tokens are estimated from the length of the requests; an answer is taken for
    150 tokens.
    """

    model: str
    trials: int
    questions: int
    """Requests to the model; what code decides costs nothing."""
    input_tokens: int
    output_tokens: int
    usd: float | None
    """None: the model has no price in `judge.yaml`."""


class TryResult(Frozen):
    """The verdicts of a try, and what they cost."""

    judgements: tuple[Judgement, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    stopped: str | None
    """Why not everything was judged; None: everything was."""


def estimate_try(project: Path, folder: RunFolder, asked: TryRequest) -> TryEstimate:
    """Builds every request, and sends none. Raises UsageError for a criterion that cannot be tried."""
    questions, chars = 0, 0
    suite = suite_of(project, folder)
    for task in _tasks(folder, suite, asked):
        for criterion in task.criteria:
            if why_not_eligible(asked.rubric, task.subject, criterion) is None:
                shown = task.subject.shown(criterion)
                body = judge_request(asked.prompt.text, asked.settings.model, asked.settings.provider, criterion, shown)
                questions += asked.settings.samples
                chars += asked.settings.samples * len(canonical_json(body))
    sent, answered = -(-chars // CHARS_PER_TOKEN), questions * _ANSWER_TOKENS
    price = asked.settings.spec.price_of(asked.settings.model)
    usd = None
    if price is not None:
        usd = (sent * price.input_usd_per_mtok + answered * price.output_usd_per_mtok) / _MTOK
    return TryEstimate(
        model=asked.settings.model,
        trials=len(asked.trials),
        questions=questions,
        input_tokens=sent,
        output_tokens=answered,
        usd=usd,
    )


def try_criterion(project: Path, folder: RunFolder, asked: TryRequest) -> TryResult:
    """Judges the trials. A spent budget ends it with the verdicts so far. Raises UsageError, and errors of the model's
    provider.
    """
    suite = suite_of(project, folder)
    settings = asked.settings
    options = ModelClientOptions(
        mode="live",
        secrets=secrets_of(suite, settings),
        budget=asked.budget,
        tries=settings.tries,
        first_wait_s=settings.first_wait_s,
        sampling=settings.sampling,
    )
    asker = ModelClient(settings.spec, settings.provider, options)
    judge = Judge(rubric=asked.rubric, prompt=asked.prompt, model=settings.model, asker=asker, samples=settings.samples)
    found: list[Judgement] = []

    def keep(judgement: Judgement) -> None:
        found.append(judgement)
        asked.watch(judgement)

    panel = Panel(judge=judge, in_flight=settings.in_flight, keep=keep)
    run_panel(panel, _tasks(folder, suite, asked))
    return TryResult(
        judgements=tuple(sorted(found, key=lambda one: (one.case_id, one.attempt, one.criterion))),
        calls=asker.spent.calls,
        input_tokens=asker.spent.input_tokens,
        output_tokens=asker.spent.output_tokens,
        usd=asker.spent.usd,
        stopped=panel.stopped,
    )


def _tasks(folder: RunFolder, suite: Suite, asked: TryRequest) -> Iterator[PanelTask]:
    model_decided(asked.rubric, asked.criterion)
    cases = {case.id: case for case in suite.cases}
    for case_id, attempt in asked.trials:
        trial = folder.trial(case_id, attempt)
        if trial is None:
            raise UsageError(f"run {folder.manifest.run!r} has no trial {case_id[:100]!r} attempt {attempt}")
        if trial.outcome not in judged_outcomes(asked.rubric):
            continue
        own = (one for one in asked.rubric.criteria_for(case_id) if asked.rubric.is_of(one.id, asked.criterion))
        yield PanelTask(subject=JudgedTrial.of(folder.manifest.run, trial, cases.get(case_id)), criteria=tuple(own))


def model_decided(rubric: Rubric, name: str) -> Criterion:
    """The criterion of that id. Raises UsageError where the rubric has none, or code decides it."""
    found = next((one for one in rubric.criteria if one.id == name), None)
    if found is None or found.kind == "code":
        known = ", ".join(one.id for one in rubric.criteria if one.kind != "code")
        raise UsageError(
            f"no model decides a criterion {name[:100]!r} of rubric {rubric.name!r}", remedy=f"criteria: {known}"
        )
    return found
