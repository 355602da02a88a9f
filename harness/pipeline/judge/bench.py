"""The stored runs, labels and questions for the evaluation of a judge."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.errors import NotMeasured, UsageError
from harness.judge import (
    AnnotationTask,
    AskingJudge,
    Judge,
    JudgeSettings,
    LabelFile,
    LabelledItem,
    Prompt,
    Question,
    Rubric,
    SortedLabels,
    label_path,
    sort_labels,
    work_of,
)
from harness.pipeline.judge.judging import secrets_of
from harness.pipeline.judge.subjects import subjects, suite_of
from harness.results import RunFolder
from harness.upstream import Budget, ModelClient, ModelClientOptions


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

    @cached_property
    def labels(self) -> SortedLabels:
        """Labels that people gave to trajectories of this suite."""
        return sort_labels(LabelFile(label_path(self.project, self.suite, self.rubric.name)), self.rubric)

    @cached_property
    def work(self) -> tuple[AnnotationTask, ...]:
        """All questions that a person or a model can answer, with each trajectory once over all runs."""
        every = [one for folder in self.folders for one in subjects(folder, suite_of(self.project, folder))]
        return tuple(work_of(every, self.rubric))

    def labelled(self) -> list[Question]:
        """The items that people have settled, and that these runs hold; raises NotMeasured where there is none."""
        by_item = self.labels.by_item
        found = [
            _question(one, self.rubric, by_item[one.item])
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
        """A judge that can answer all of `runs.work`; raises UsageError where its API key is missing."""
        suite = suite_of(self.runs.project, self.runs.folders[0])
        options = ModelClientOptions(
            mode="live",
            secrets=secrets_of(suite, self.settings),
            budget=self.budget,
            sampling=self.settings.sampling,
            say=self.say,
        )
        asker = ModelClient(self.settings.spec, self.settings.provider, options)
        judge = Judge(
            rubric=self.runs.rubric, prompt=self.prompt, model=self.settings.model, asker=asker, folder=suite.folder
        )
        places = {question_id(one): (one.subject, one.criterion) for one in self.runs.work}
        return AskingJudge(judge=judge, places=places, in_flight=self.settings.in_flight)


def question_id(work: AnnotationTask) -> str:
    """Unique over all runs of a suite."""
    return f"{work.item.case_id}/{work.item.trajectory}/{work.item.criterion}"


def _question(work: AnnotationTask, rubric: Rubric, labelled: LabelledItem | None) -> Question:
    said = () if labelled is None else (*labelled.labels, *filter(None, (labelled.adjudication,)))
    known = rubric.criterion(work.criterion.id)
    return Question(
        id=question_id(work),
        case_id=work.item.case_id,
        criterion=work.criterion.id if known is None else known.id,
        statement=work.criterion.statement,
        critical=work.criterion.critical,
        right=(None if labelled is None else labelled.answer) or "judge_failed",
        notes=tuple(label.note for label in said if label.note),
    )
