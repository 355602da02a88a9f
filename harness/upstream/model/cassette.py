"""The recordings of the harness's own model requests, and the options for their use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.case import ModelSpec
from harness.cassette import (
    CallKey,
    Cassette,
    Redactor,
    TrialJournal,
    cassette_path,
    initial_state,
    merge_recordings,
    open_cassette,
    refuse_secrets,
)
from harness.upstream.budget import Budget
from harness.upstream.model.answer import ModelAnswer
from harness.upstream.model.exchange import ModelExchange
from harness.upstream.model.keys import RequestKeys
from harness.upstream.model.reply_recorder import ReplyRecorder
from harness.upstream.model.sampling import Sampling

AskMode = Literal["auto", "replay", "live"]
"""`auto`: from the cassette, else from the provider with recording. `replay`: from the cassette alone. `live`: from the
provider, without a cassette.
"""


@dataclass(frozen=True, kw_only=True)
class ModelClientOptions:
    """The options of a model client."""

    mode: AskMode = "auto"
    cassettes: Path | None = None
    """The folder of cassettes; None disables them in every mode."""
    suite: str = "judge"
    """The suite's folder of cassettes."""
    beside_others: bool = False
    """Whether recordings are added to the case's own cassette, with those of its tools; else a new JSON cassette is
    used.
    """
    secrets: Mapping[str, str] = field(default_factory=dict)
    budget: Budget | None = None
    tries: int = 5
    first_wait_s: float = 0.5
    """The pause before the second attempt; doubled each time, unless the provider states a duration."""
    sampling: Sampling | None = None
    """The parameters of every request; None leaves the parameters of its body."""
    say: Callable[[str], None] = lambda _: None
    """Receives one message for each parameter that the model rejects."""


class ModelCassette:
    """The opened recordings of one case."""

    def __init__(self, options: ModelClientOptions, spec: ModelSpec, case: str) -> None:
        self._options = options
        self._case = case
        self._redactor = Redactor(options.secrets)
        self._provenance = spec.provenance
        self.keys = RequestKeys(self._redactor, spec.ignore)
        self._journal: TrialJournal | None = None
        self._cassette = Cassette()
        self._path: Path | None = None
        if options.cassettes is not None and options.mode != "live":
            path = cassette_path(options.cassettes, options.suite, case)
            # A JSON cassette is written and read many times faster, and users do not edit a judge's answers.
            self._path = path if path.exists() or options.beside_others else path.parent / f"{case}.json"
            if self._path.exists():
                self._cassette = open_cassette(self._path).only("model")
                refuse_secrets(self._path, self._cassette.recordings, self._redactor)

    @property
    def is_empty(self) -> bool:
        return not self._cassette.recordings

    def recorded(self, key: CallKey) -> ModelAnswer | None:
        found = self._cassette.answers(key.key, initial_state(key.server))
        if not found:
            return None
        one = found[0]
        return ModelAnswer(status=one.status, headers=one.headers, body=one.body, outcome=one.mark.outcome)

    def keep(self, exchange: ModelExchange) -> None:
        """Keeps a reply of the provider."""
        options = self._options
        if self._path is None or options.cassettes is None:
            return
        if self._journal is None:
            self._journal = TrialJournal(
                options.cassettes, suite=options.suite, case=self._case, redactor=self._redactor
            )
            self._recorder = ReplyRecorder(self._journal, self.keys, self._redactor, self._provenance)
        self._recorder.keep(exchange)

    def close(self) -> None:
        """Merges the recordings into the cassette."""
        journal, self._journal = self._journal, None
        if journal is not None and self._path is not None:
            merge_recordings(self._path, journal.recordings, self._options.suite, self._case, redactor=journal.redactor)
            journal.remove()
