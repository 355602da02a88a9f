"""The later scorings of a run, beside its trials: `scores/<n>/`, of which the last one counts."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.results.manifest import Scoring
from harness.results.storage import commit_folder, json_bytes, json_line, parsed, read_checked
from harness.score import Score, Scorecard

RUN_SCORES = "run_scores.json"
_SCORING = "scoring.json"
_SCORECARDS = "scorecards.jsonl"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class Scorings:
    """Of the run folder `run`. Each reading call raises ResultsError naming a damaged file."""

    def __init__(self, run: Path) -> None:
        self._folder = run / "scores"

    def folders(self) -> list[Path]:
        """One a scoring, the first one first; empty where the run was not scored again."""
        if not self._folder.is_dir():  # as before every commit of a first run
            return []
        found = (path for path in self._folder.iterdir() if _NUMBER.fullmatch(path.name))
        return sorted(found, key=lambda path: int(path.name))

    def add(self, scorecards: Sequence[Scorecard], run_scores: Sequence[Score], scoring: Scoring) -> Path:
        """Commits a further scoring and gives its folder; the earlier ones stay as they are."""
        last = self._last()
        number = 1 if last is None else int(last.name) + 1
        target = self._folder / str(number)
        commit_folder(
            target,
            {
                _SCORECARDS: b"".join(json_line(card) for card in scorecards),
                RUN_SCORES: json_bytes([score.model_dump() for score in run_scores]),
                _SCORING: json_bytes(scoring),
            },
        )
        return target

    def latest(self) -> Scoring | None:
        """By which suite and scorers the run was scored last; None where it was not scored again."""
        folder = self._last()
        return None if folder is None else parsed(folder / _SCORING, read_checked(folder, _SCORING), Scoring)

    def run_scores(self) -> tuple[Score, ...] | None:
        """The figures over the whole run; None where it was not scored again."""
        folder = self._last()
        return (
            None if folder is None else parsed(folder / RUN_SCORES, read_checked(folder, RUN_SCORES), tuple[Score, ...])
        )

    def scorecards(self) -> list[Scorecard]:
        """One a trial that was scored again."""
        folder = self._last()
        if folder is None:
            return []
        path = folder / _SCORECARDS
        return [parsed(path, line, Scorecard) for line in read_checked(folder, _SCORECARDS).splitlines()]

    def _last(self) -> Path | None:
        return next(reversed(self.folders()), None)
