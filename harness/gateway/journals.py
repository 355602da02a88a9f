"""The journals of one trial: of the case's own cassette, or of a cassette that is stored with the run."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.gateway.contract import SessionRequest

if TYPE_CHECKING:
    from harness.cassette import Merge, Redactor, TrialJournal


@dataclass(frozen=True, kw_only=True)
class Journals:
    """None: no recordings are written."""

    tools: "TrialJournal | None" = None
    """Player of tools and hosts."""
    models: "TrialJournal | None" = None
    finish: "Callable[[], Merge | None] | None" = None
    """Merges the recordings into their cassette; returns the result for the case's own cassette, or None where it is
    not recorded.
    """


@dataclass(frozen=True, kw_only=True)
class JournalKeeper:
    """Opens the journals of a run's trials."""

    suite: str
    cassettes: Path
    records_tools: bool
    records_models: bool
    refresh: bool
    live: Path | None
    """The folder for the cassettes of tools that answer live."""

    def open(self, request: SessionRequest, redactor: "Redactor", closing: ExitStack) -> Journals:
        """Opens the journals of a trial, which are closed with `closing`; journals for the run's own cassettes are
        deleted where the trial has not ended.
        """
        if not (self.records_tools or self.records_models or self.live is not None):
            return Journals()
        from harness.cassette import TrialJournal, keep_live, merge  # a replayed trial does without the recorder

        case, recorded, kept = request.case.id, None, None
        name = f"{case}.{request.attempt}"
        if self.records_tools or self.records_models:
            recorded = TrialJournal(self.cassettes, suite=self.suite, case=case, redactor=redactor)
            closing.callback(recorded.close)
        if self.live is not None:
            kept = TrialJournal(self.live, suite=self.suite, case=name, redactor=redactor, kept=True)
            closing.callback(kept.remove)

        def finish() -> "Merge | None":
            if kept is not None and self.live is not None:
                keep_live(kept, self.live, self.suite, name)
            if recorded is None:
                return None
            return merge(recorded, self.cassettes, suite=self.suite, case=case, refresh=self.refresh)

        return Journals(
            tools=recorded if self.records_tools else kept,
            models=recorded if self.records_models else None,
            finish=None if recorded is None and kept is None else finish,
        )
