"""A change that is tried: kept in `runs/.workbench/`, so that its address and its verdicts outlive the app."""

import json
import re
import secrets
from dataclasses import replace
from pathlib import Path
from threading import Lock, Thread
from typing import Final, Literal

from pydantic import Field, ValidationError

from harness.disk import read_plain_file, write_atomically
from harness.errors import HarnessError, ResultsError, UsageError
from harness.gateway.budgets import Budget
from harness.judging.prompts import Prompt
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import Judgement
from harness.runs.judging import TryEstimate, TryRequest, TryResult, try_criterion
from harness.runs.store.folder import RunFolder, TrialKey
from harness.suite.problems import first_words
from harness.values import Frozen, digest_of_text

_FOLDER: Final = ".workbench"
_ID: Final = re.compile(r"[0-9a-f]{12}")
_LISTED: Final = 50
MOST_TRIALS: Final = 60

State = Literal["drafted", "running", "ended", "failed"]


class CriterionDraft(Frozen):
    """One criterion with a prompt, as changed, and the trials that it is tried on."""

    id: str
    created: str
    run: str
    rubric: str
    """The name by which the rubric was found."""
    rubric_digest: str
    criterion: str
    statement: str = Field(min_length=1, max_length=20_000)
    fail: str | None = None
    eligibility: str | None = None
    prompt: str
    prompt_version: str
    """The version that the text began as."""
    prompt_text: str = Field(min_length=1, max_length=200_000)
    trials: tuple[TrialKey, ...] = Field(min_length=1, max_length=MOST_TRIALS)
    estimate: TryEstimate | None = None
    state: State = "drafted"
    problem: str | None = None
    judgements: tuple[Judgement, ...] = ()
    """Those so far."""
    tried: TryResult | None = None
    """Set when it has ended."""

    def changed_criterion(self, rubric: Rubric) -> Criterion:
        """The criterion of the rubric with the changes. Raises UsageError where the rubric has it no more."""
        known = rubric.criterion(self.criterion)
        if known is None:
            raise UsageError(f"rubric {rubric.name!r} has no criterion {self.criterion[:100]!r}")
        changes = {"statement": self.statement, "fail": self.fail, "eligibility": self.eligibility}
        return known.model_copy(update=changes)

    def changed_rubric(self, rubric: Rubric) -> Rubric:
        return rubric.with_criterion(self.changed_criterion(rubric))

    @property
    def tried_prompt(self) -> Prompt:
        """With a version that no saved prompt has."""
        return Prompt(name=self.prompt, version=f"draft-{digest_of_text(self.prompt_text)[:8]}", text=self.prompt_text)


class Drafts:
    """The drafts of a project."""

    def __init__(self, runs: Path) -> None:
        self._folder = runs / _FOLDER

    def read(self, id: str) -> CriterionDraft:
        """Raises UsageError where there is none, ResultsError for a damaged file."""
        path = self._path(id)
        try:
            return CriterionDraft.model_validate(json.loads(read_plain_file(path)))
        except FileNotFoundError:
            raise UsageError(f"there is no draft {id[:40]!r}", remedy="begin another one") from None
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            if not isinstance(error, ValidationError):
                raise ResultsError(f"{path}: is not JSON", remedy="delete the file") from None
            field, problem = first_words(error)
            raise ResultsError(f"{path}: field {field!r}: {problem}", remedy="delete the file") from None

    def write(self, draft: CriterionDraft) -> None:
        """Whole, or not at all. Raises ResultsError where the folder is a link."""
        if self._folder.is_symlink():  # an unpacked archive of runs may hold a link to any folder
            raise ResultsError(f"{self._folder} is a link, and no link is written through", remedy="delete it")
        self._folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps(draft.model_dump(mode="json"))  # half a surrogate pair of a model's answer stays an escape
        write_atomically(self._path(draft.id), content.encode())

    def latest(self) -> list[CriterionDraft]:
        """The newest first; what is damaged is left out, and reported where it is opened."""
        try:
            paths = sorted(self._folder.glob("*.json"), key=lambda one: one.lstat().st_mtime_ns, reverse=True)
        except OSError:
            return []
        found = []
        for path in paths[:_LISTED]:
            try:
                found.append(self.read(path.stem))
            except (UsageError, ResultsError):
                continue
        return found

    def _path(self, id: str) -> Path:
        if not _ID.fullmatch(id):
            raise UsageError(f"{id[:40]!r} is not a draft")
        return self._folder / f"{id}.json"


def new_id() -> str:
    return secrets.token_hex(6)


# Tries in progress: each in a thread of its own, with every verdict on disk when it is made.


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
