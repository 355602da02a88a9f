"""A judge calibrated on stored runs and their labels; what was tried is saved as a candidate."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from harness.errors import NotMeasured, UsageError
from harness.gateway.budgets import Budget
from harness.judging.annotation import AnnotationTask, work_of
from harness.judging.calibration import Calibrated, CalibrationSettings, Outcome, calibrate
from harness.judging.calibration_questions import AnswerCache, AskingJudge, ModelReflector, Question, split_by_case
from harness.judging.certification import (
    JudgeRecord,
    add_record,
    judges_of,
    label_digest,
    measure,
    read_records,
    record_path,
    uncertified,
    used_labels,
)
from harness.judging.judge import Judge, client_of
from harness.judging.labels import LabelledItem, SortedLabels, label_path, sort_labels
from harness.judging.prompts import Prompt, PromptRegistry
from harness.judging.rubrics import Rubric
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.runs.judging import secrets_of
from harness.runs.measured_trials import subjects, suite_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from harness.values import digest_of


@dataclass(frozen=True)
class Runs:
    """Stored runs of one suite, and the rubric that they are judged by."""

    project: Path
    folders: tuple[RunFolder, ...]
    rubric: Rubric

    def __post_init__(self) -> None:
        names = sorted({folder.manifest.suite for folder in self.folders})
        if len(names) != 1:
            raise UsageError(f"the runs are of several suites: {', '.join(names)}", remedy="give runs of one suite")

    @property
    def suite(self) -> str:
        return self.folders[0].manifest.suite

    @property
    def records(self) -> Path:
        """The file of what the labels were used for."""
        return record_path(self.project, self.suite, self.rubric.name)

    @cached_property
    def labels(self) -> SortedLabels:
        """Labels that people gave to trajectories of this suite."""
        return sort_labels(label_path(self.project, self.suite, self.rubric.name), self.rubric)

    @cached_property
    def work(self) -> tuple[AnnotationTask, ...]:
        """All questions that a person or a model can answer, with each trajectory once over all runs."""
        every = [one for folder in self.folders for one in subjects(folder, suite_of(self.project, folder))]
        return tuple(work_of(every, self.rubric))

    def labelled(self) -> list[Question]:
        """The items that people have settled, and that these runs hold; raises NotMeasured if there is none."""
        by_item, used = self.labels.by_item, used_labels(read_records(self.records))
        found = [
            _question(one, self.rubric, by_item[one.item], used)
            for one in self.work
            if one.item in by_item and by_item[one.item].answer is not None
        ]
        if not found:
            names = ", ".join(folder.manifest.run for folder in self.folders)
            raise NotMeasured(
                f"no trajectory of {names} is labelled by {self.rubric.name!r}",
                remedy=f"harness annotate {self.folders[0].manifest.run} --rubric {self.rubric.name} --as NAME",
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A judge that is called without any cassette."""

    runs: Runs
    prompt: Prompt
    settings: JudgeSettings
    budget: Budget | None = None
    say: Callable[[str], None] = lambda _: None
    """Receives a message for each parameter that the model rejects."""

    def judge(self) -> AskingJudge:
        """A judge that can answer all of `runs.work`; raises UsageError if its API key is missing."""
        suite = suite_of(self.runs.project, self.runs.folders[0])
        secrets = secrets_of(suite, self.settings)
        asker = client_of(self.settings, "live", secrets, budget=self.budget, say=self.say)
        judge = Judge(
            rubric=self.runs.rubric, prompt=self.prompt, settings=self.settings, asker=asker, folder=suite.folder
        )
        places = {question_id(one): (one.subject, one.criterion) for one in self.runs.work}
        return AskingJudge(judge=judge, places=places, in_flight=self.settings.in_flight)


def question_id(work: AnnotationTask) -> str:
    """Unique over all runs of a suite."""
    return f"{work.item.case_id}/{work.item.trajectory}/{work.item.criterion}"


def _question(work: AnnotationTask, rubric: Rubric, labelled: LabelledItem, used: Collection[str]) -> Question:
    said = (*labelled.labels, *filter(None, (labelled.adjudication,)))
    known = rubric.criterion(work.criterion.id)
    return Question(
        id=question_id(work),
        case_id=work.item.case_id,
        criterion=work.criterion.id if known is None else known.id,
        statement=work.criterion.statement,
        domain=work.criterion.domain,
        critical=work.criterion.critical,
        right=labelled.answer or "judge_failed",
        step=labelled.step,
        notes=tuple(label.note for label in said if label.note),
        used=label_digest(work.item) in used,
    )


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

    Raises NotMeasured if nothing is labelled, or too few cases with unused labels can be held out; UsageError for
    labels of fewer than three cases. OutOfBudget is passed on: answers so far are stored, and a repeated call continues
    from there.
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
    return _calibrated(asked, outcome, questions)


def _calibrated(asked: Calibrating, outcome: Outcome, questions: Sequence[Question]) -> Calibrated:
    bench = asked.bench
    after = None
    if outcome.accepted:
        after = PromptRegistry(bench.runs.project).add(bench.prompt.name, outcome.prompt, CANDIDATE).version
    split = split_by_case(questions, asked.settings.seed)
    parts = (split.train, split.validation, *((split.held_out,) if outcome.choice.chosen else ()))
    decided = {one.id for part in parts for one in part}
    used = sorted({label_digest(one.item) for one in bench.runs.work if question_id(one) in decided})
    _add_record(bench.runs, bench.settings.identity(bench.prompt), "calibration", used=tuple(used))
    return Calibrated(
        outcome=outcome,
        prompt=bench.prompt.name,
        before=bench.prompt.version,
        after=after,
        model=bench.settings.model,
        labels=len(questions),
        annotators=bench.runs.labels.annotators,
        left_out=bench.runs.labels.problems(),
    )


def _add_record(
    runs: Runs, judge: JudgeIdentity, purpose: Literal["calibration", "certification"], **found: Any
) -> None:
    record = JudgeRecord(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        purpose=purpose,
        rubric=runs.rubric.name,
        rubric_version=runs.rubric.version,
        judge=judge,
        annotators=runs.labels.annotators,
        **found,
    )
    add_record(runs.records, record)


def certify_judge(runs: Runs, judge: JudgeIdentity, judgements: Sequence[Judgement]) -> dict[str, str]:
    """Tests the judge that made `judgements` on the labels that decided nothing before, for each criterion for which
    it has no certificate, and keeps the result. Returns what it lacks, as `uncertified` does.
    """
    name, before = runs.rubric.name, used_labels(read_records(runs.records))
    files = (runs.project / "runs").glob(f"*/judgements/{name}.jsonl")
    every = (one for path in files for one in read_judgements(path.parents[1], name))
    judges = judges_of(runs.rubric, every, runs.labels, before)
    missing = uncertified(runs.project, runs.suite, runs.rubric, judge, judges)
    rates, used = measure(runs.rubric, judgements, runs.labels, before, missing, judges)
    if rates:
        _add_record(runs, judge, "certification", criteria=rates, used=used)
    return uncertified(runs.project, runs.suite, runs.rubric, judge, judges)


def _memory(asked: Calibrating, questions: Sequence[Question]) -> Path:
    """A file of the first run's own, for this judge, these questions and this prompt."""
    bench = asked.bench
    judge = [*bench.settings.identity(bench.prompt).decides, bench.settings.base_url]
    key = digest_of([*judge, sorted(_question_digests(questions))])
    name = f"{bench.runs.rubric.name}-{key[:12]}.jsonl"
    return bench.runs.folders[0].path / "calibration" / name


def _question_digests(questions: Sequence[Question]) -> list[str]:
    return [digest_of([one.id, one.right, one.notes]) for one in questions]


def _reflector(asked: Calibrating) -> Callable[[str], str]:
    if not isinstance(asked.reflector, JudgeSettings):
        return asked.reflector
    settings, bench = asked.reflector, asked.bench
    secrets = secrets_of(suite_of(bench.runs.project, bench.runs.folders[0]), settings)
    return ModelReflector.of(settings, secrets, bench.budget)


def _unusable(text: str, cases: Collection[str]) -> str | None:
    """Rejects prompts that contain ids of training cases, which is overfitting."""
    if not text.strip():
        return "the prompt is empty"
    if len(text) > _MAX_PROMPT:
        return f"the prompt has more than {_MAX_PROMPT} characters"
    named = next((case for case in sorted(cases) if case in text), None)
    return None if named is None else f"the prompt contains the id of the training case {named}"
