"""What services printed last in trials that the harness failed: the first thing to look at when one died."""

from collections.abc import Iterable, Iterator

from harness.score import Scorecard
from harness.trace import Trial


class LogEnds:
    """The last line of each service's log, noted while trials pass."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], dict[str, str]] = {}

    def noting(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """The same trials."""
        for trial in trials:
            if trial.service_logs:
                self._found[trial.case_id, trial.attempt] = {
                    service: last_line(log) for service, log in trial.service_logs.items()
                }
            yield trial

    def of(self, card: Scorecard) -> dict[str, str]:
        """Service -> line, empty where it printed nothing."""
        return self._found.get((card.case_id, card.attempt), {})


def last_line(log: str) -> str:
    """Blank lines apart."""
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
