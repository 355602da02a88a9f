"""The last output of services and the agent's program in failed trials, and the durations of trials."""

from collections.abc import Iterable, Iterator

from harness.report.figures.printed import PrintedEnd, printed_ends
from harness.score import Scorecard
from harness.trace import Trial


class LogEnds:
    """Collects the last line of each service's log, the last output of programs, and durations, trial by trial."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], dict[str, str]] = {}
        self._printed: dict[tuple[str, int], tuple[PrintedEnd, ...]] = {}
        self.seconds: dict[str, float] = {}
        """`<case>/<attempt>` -> how long the trial took."""

    def noting(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """The same trials."""
        for trial in trials:
            if trial.service_logs:
                self._found[trial.case_id, trial.attempt] = {
                    service: last_line(log) for service, log in trial.service_logs.items()
                }
            if printed := printed_ends(trial.exit):
                self._printed[trial.case_id, trial.attempt] = printed
            if trial.duration_s is not None:
                self.seconds[f"{trial.case_id}/{trial.attempt}"] = trial.duration_s
            yield trial

    def printed(self, card: Scorecard) -> tuple[PrintedEnd, ...]:
        """The last output of the agent's program."""
        return self._printed.get((card.case_id, card.attempt), ())

    def of(self, card: Scorecard) -> dict[str, str]:
        """Service -> line, empty where it printed nothing."""
        return self._found.get((card.case_id, card.attempt), {})


def last_line(log: str) -> str:
    """Ignores blank lines."""
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
