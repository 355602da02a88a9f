"""Tries in progress: each in a thread of its own, with every verdict on disk when it is made."""

from dataclasses import replace
from pathlib import Path
from threading import Lock, Thread

from harness.errors import HarnessError, UsageError
from harness.judge import Judgement, JudgeSettings, Rubric
from harness.pipeline import TryRequest, try_criterion
from harness.results import RunFolder
from harness.upstream import Budget
from harness.view.workbench.draft import CriterionDraft, Drafts


class RunningTries:
    """Safe to use from several threads."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self.drafts = Drafts(project / "runs")
        self._lock = Lock()
        self._running: dict[str, Thread] = {}

    def is_running(self, id: str) -> bool:
        """Whether this app is trying it; a draft that says so, and is not, was interrupted."""
        thread = self._running.get(id)
        return thread is not None and thread.is_alive()

    def start(
        self, draft: CriterionDraft, folder: RunFolder, rubric: Rubric, settings: JudgeSettings, budget: Budget
    ) -> None:
        """Raises UsageError where it is running already. `rubric` is the one with the change."""
        with self._lock:
            if self.is_running(draft.id):
                raise UsageError("this draft is being tried already")
            begun = draft.model_copy(update={"state": "running", "judgements": (), "tried": None, "problem": None})
            self.drafts.write(begun)
            asked = TryRequest(
                rubric=rubric,
                criterion=draft.criterion,
                prompt=draft.tried_prompt,
                settings=settings,
                trials=draft.trials,
                budget=budget,
            )
            thread = Thread(target=self._run, args=(begun, folder, asked), name="try", daemon=True)
            self._running[draft.id] = thread
            thread.start()

    def _run(self, draft: CriterionDraft, folder: RunFolder, asked: TryRequest) -> None:
        found: list[Judgement] = []

        def keep(judgement: Judgement) -> None:
            found.append(judgement)
            self.drafts.write(draft.model_copy(update={"judgements": tuple(found)}))

        watched = replace(asked, watch=keep)
        try:
            tried = try_criterion(self._project, folder, watched)
            ended = draft.model_copy(update={"state": "ended", "judgements": tried.judgements, "tried": tried})
        except HarnessError as error:
            words = error.message if error.remedy is None else f"{error.message}. {error.remedy}"
            ended = draft.model_copy(update={"state": "failed", "judgements": tuple(found), "problem": words})
        self.drafts.write(ended)
