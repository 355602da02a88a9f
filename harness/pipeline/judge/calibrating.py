"""A judge calibrated on stored runs and the labels of their trajectories; its prompt becomes a new version."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.judge import (
    AgreementFigures,
    AnswerCache,
    Calibrated,
    CalibrationRecord,
    CalibrationSettings,
    JudgeSettings,
    ModelReflector,
    Outcome,
    Prompt,
    PromptRegistry,
    Question,
    add_record,
    asked_by,
    read_records,
    record_path,
)
from harness.judge.lab.calibration.calibrate import calibrate
from harness.pipeline.judge.bench import Bench
from harness.pipeline.judge.judging import secrets_of
from harness.pipeline.judge.subjects import suite_of
from harness.upstream import ModelClient, ModelClientOptions
from harness.values import digest_of

CANDIDATE = "candidate"
_MAX_PROMPT = 40_000


@dataclass(frozen=True, kw_only=True)
class Calibrating:
    """The request of a calibration."""

    bench: Bench
    reflector: JudgeSettings | Callable[[str], str]
    """The reflector that revises the prompt: a model or rules."""
    settings: CalibrationSettings


def calibrate_judge(asked: Calibrating) -> Calibrated:
    """Proposes prompts, selects one, and writes it as a new version with the record of its measured quality.

    Raises NotMeasured where nothing is labelled, UsageError for labels of fewer than three cases. OutOfBudget is passed
    on: answers so far are stored, and a repeated call continues from there.
    """
    questions = asked.bench.runs.labelled()
    cases = {question.case_id for question in questions}
    outcome = calibrate(
        AnswerCache(asked.bench.judge(), _memory(asked, questions)),
        questions,
        asked.bench.prompt.text,
        _reflector(asked),
        is_usable=lambda text: _unusable(text, cases),
        settings=asked.settings,
    )
    return _kept(asked, outcome, questions)


def _kept(asked: Calibrating, outcome: Outcome, questions: Sequence[Question]) -> Calibrated:
    bench = asked.bench
    path = record_path(bench.runs.project, bench.runs.suite, bench.runs.rubric.name)
    earlier = {one.time for one in read_records(path) if one.held_out_digest == outcome.held_out_digest}
    time = datetime.now(UTC).isoformat(timespec="seconds")
    judged = [(bench.prompt, outcome.held_out.before)]
    if outcome.held_out.after is not None:
        prompt = PromptRegistry(bench.runs.project).add(bench.prompt.name, outcome.prompt, CANDIDATE)
        judged.append((prompt, outcome.held_out.after))
    for prompt, figures in judged:
        add_record(path, _record(asked, prompt, figures, outcome, questions, (time, len(earlier))))
    return Calibrated(
        outcome=outcome,
        prompt=bench.prompt.name,
        before=bench.prompt.version,
        after=judged[-1][0].version if len(judged) > 1 else None,
        model=bench.settings.model,
        labels=len(questions),
        annotators=bench.runs.labels.annotators,
        left_out=bench.runs.labels.problems(),
        held_out_seen_before=len(earlier),
    )


def _record(
    asked: Calibrating,
    prompt: Prompt,
    held_out: AgreementFigures,
    outcome: Outcome,
    questions: Sequence[Question],
    seen: tuple[str, int],
) -> CalibrationRecord:
    runs = asked.bench.runs
    asked_about = {question.criterion for question in questions}
    return CalibrationRecord(
        time=seen[0],
        rubric=runs.rubric.name,
        rubric_version=runs.rubric.version,
        criteria={one.id: asked_by(runs.rubric, one) for one in runs.rubric.criteria if one.id in asked_about},
        prompt=prompt.name,
        prompt_version=prompt.version,
        prompt_digest=prompt.digest,
        model=asked.bench.settings.model,
        labels=len(questions),
        annotators=runs.labels.annotators,
        held_out_questions=held_out.questions,
        held_out_agreement=held_out.agreement,
        held_out_kappa=held_out.kappa,
        held_out_digest=outcome.held_out_digest,
        held_out_seen_before=seen[1],
    )


def _memory(asked: Calibrating, questions: Sequence[Question]) -> Path:
    """A file of the first run's own, for this judge, these questions and this prompt."""
    bench = asked.bench
    key = digest_of([bench.prompt.digest, bench.settings.model, bench.settings.base_url, sorted(_known(questions))])
    name = f"{bench.runs.rubric.name}-{key[:12]}.jsonl"
    return bench.runs.folders[0].path / "calibration" / name


def _known(questions: Sequence[Question]) -> list[str]:
    return [digest_of([one.id, one.right, one.notes]) for one in questions]


def _reflector(asked: Calibrating) -> Callable[[str], str]:
    if not isinstance(asked.reflector, JudgeSettings):
        return asked.reflector
    settings, bench = asked.reflector, asked.bench
    secrets = secrets_of(suite_of(bench.runs.project, bench.runs.folders[0]), settings)
    options = ModelClientOptions(mode="live", secrets=secrets, budget=bench.budget)
    return ModelReflector(asker=ModelClient(settings.spec, settings.provider, options), model=settings.model)


def _unusable(text: str, cases: Collection[str]) -> str | None:
    """Rejects prompts that contain ids of training cases, which is overfitting."""
    if not text.strip():
        return "the prompt is empty"
    if len(text) > _MAX_PROMPT:
        return f"the prompt has more than {_MAX_PROMPT} characters"
    named = next((case for case in sorted(cases) if case in text), None)
    return None if named is None else f"the prompt contains the id of the training case {named}"
