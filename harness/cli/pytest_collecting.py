"""A suite as pytest collects it: one test for each attempt at a case."""

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.api import run
from harness.errors import HarnessError
from harness.runs.plan.plan import RunOptions
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.scoring.scorecard import Scorecard
from harness.suite.loading import load_suite
from harness.text import one_line, visible
from harness.traces.outcomes import MEASURED

# The runs of a pytest session: one for each suite, however many workers ask for its trials.


class SessionRuns:
    """Makes each suite's run when the first trial of it is asked for.

    Workers of pytest-xdist are processes that know of each other only by the session's id: the first to lock the run's
    name makes the run, the others wait for the lock and read the run folder. The run has its own parallel jobs.
    """

    def __init__(self, project: Path, session: str, options: Mapping[str, Any]) -> None:
        self.project = project
        self.trials = int(options.get("trials", 1))
        self._session = session[:12]
        self._options = options
        self._ended: dict[str, RunFolder | HarnessError] = {}

    def trial(self, suite: str, cases: Sequence[str], key: tuple[str, int]) -> tuple[RunFolder, StoredTrial | None]:
        """The run, and the trial `key` of it; None where the run ended before it.

        `cases` are those that the session selects of the suite, the same in every worker. Raises HarnessError where
        the run cannot be made.
        """
        if suite not in self._ended:
            self._ended[suite] = self._made(suite, cases)
        ended = self._ended[suite]
        if isinstance(ended, HarnessError):
            raise ended
        return ended, ended.stored(*key)

    def remove_locks(self) -> None:
        """Ends the session: nobody waits for its runs any more."""
        for lock in (self.project / "runs").glob(f".pytest-{self._session}-*.lock"):
            lock.unlink(missing_ok=True)

    def _made(self, suite: str, cases: Sequence[str]) -> RunFolder | HarnessError:
        name = f"pytest-{self._session}-{Path(suite).name}"
        runs = self.project / "runs"
        runs.mkdir(exist_ok=True)
        try:
            with (runs / f".{name}.lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process, however it ends
                if not (runs / name).is_dir():
                    wanted = {"suite": suite, "cases": tuple(dict.fromkeys(cases)), "run_name": name}
                    run(RunOptions(**{**self._options, **wanted}), project=self.project)
            return RunFolder.open(runs / name)
        except HarnessError as error:
            return error


class TrialFailed(Exception):
    """The trial was measured, and it failed."""


class TrialNotMeasured(Exception):
    """Nothing is known of the trial's success: an error in pytest's terms, and never a pass or a skip."""


class SuiteCollector(pytest.File):
    """A suite's `suite.yaml`."""

    runs: SessionRuns
    suite_name: str

    def collect(self) -> Iterator["TrialItem"]:
        try:
            suite = load_suite(self.runs.project, self.suite_name)
        except HarnessError as error:
            raise self.CollectError(str(error)) from None
        for case in suite.cases:
            for attempt in range(1, self.runs.trials + 1):
                item = TrialItem.from_parent(self, name=case.id if self.runs.trials == 1 else f"{case.id}[{attempt}]")
                item.key = (case.id, attempt)
                item.extra_keyword_matches.update({case.category, *case.tags})
                yield item


class TrialItem(pytest.Item):
    """One trial. `setup` waits for the session's run of the suite and raises where the trial was not measured."""

    parent: SuiteCollector
    key: tuple[str, int]
    trial_seconds: float | None = None
    """Of the trial; None before the run has ended, and where it was not measured."""
    _card: Scorecard

    def setup(self) -> None:
        selected = [
            item.key[0] for item in self.session.items if isinstance(item, TrialItem) and item.parent.path == self.path
        ]
        run, stored = self.parent.runs.trial(self.parent.suite_name, selected, self.key)
        if stored is None:
            raise TrialNotMeasured(f"run {run.path.name} was stopped before this trial")
        self._card = run.scorecard(*self.key)
        self.trial_seconds = stored.trial.duration_s
        self.user_properties += _properties(run.path.name, self._card, stored)
        if self._card.outcome not in MEASURED:
            raise TrialNotMeasured(f"{self._card.outcome}: {one_line(self._card.reason or '')}\n{self._more()}")

    def runtest(self) -> None:
        if self._card.success is True:
            return
        reasons = [
            one_line(f"{one.check}: {'failed' if one.passed is False else 'undecided'}: {one.reason}")
            for one in self._card.verdicts
            if one.passed is not True
        ]
        if not self._card.verdicts:
            reasons = ["the case has no check, so that its success is unknown"]
        raise TrialFailed("\n".join([*reasons, self._more()]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **options: Any) -> Any:
        """The reasons without a traceback, which would show the plug-in's own lines, and without control characters."""
        if isinstance(excinfo.value, TrialFailed | TrialNotMeasured | HarnessError):
            return visible(str(excinfo.value))
        return super().repr_failure(excinfo, *args, **options)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.parent.suite_name}: {self.name}"

    def _more(self) -> str:
        case, attempt = self.key
        run = dict(self.user_properties)["run"]
        return f"harness --project {self.parent.runs.project} explain {run} {case}/{attempt}"


def _properties(run: str, card: Scorecard, stored: StoredTrial) -> list[tuple[str, object]]:
    """JUnit's `<property>` elements: the run, the outcome, and the figures that were measured."""
    figures = {name: card.value(name) for name in ("steps", "tokens", "cost_usd")}
    figures["latency_s"] = stored.trial.duration_s
    known = [(name, round(value, 6)) for name, value in figures.items() if value is not None]
    return [("run", run), ("outcome", card.outcome), *known]
