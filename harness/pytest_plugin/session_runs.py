"""The runs of a pytest session: one for each suite, however many workers ask for its trials."""

import fcntl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.api import RunOptions, run
from harness.errors import HarnessError
from harness.results import RunFolder, StoredTrial


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
