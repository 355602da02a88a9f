"""Recordings of model replies, for agents' models and for those that the harness itself asks."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.cassettes.cassette import Cassette, cassette_path, open_cassette, refuse_secrets
from harness.cassettes.journals import TrialJournal, merge_recordings
from harness.cassettes.keys import CallKey, initial_state
from harness.cassettes.recordings import Mark, Recording
from harness.cassettes.redaction import Redactor
from harness.gateway.budgets import Budget
from harness.gateway.models.exchange import ModelExchange
from harness.gateway.models.formats import ModelAnswer
from harness.gateway.models.keys import RequestKeys
from harness.gateway.models.sampling import Sampling
from harness.suite.models import ModelSpec, Provenance


class ReplyRecorder:
    """Records the replies of one trial; without a journal it only stores which requests they answer."""

    def __init__(
        self, journal: TrialJournal | None, keys: RequestKeys, redactor: Redactor, provenance: Provenance = "service"
    ) -> None:
        """`provenance` applies to every reply."""
        self._journal = journal
        self._keys = keys
        self._redactor = redactor
        self._provenance = provenance
        self._made: defaultdict[str, int] = defaultdict(int)

    @property
    def records(self) -> bool:
        """Whether replies are recorded on a cassette."""
        return self._journal is not None

    def keep(self, exchange: ModelExchange) -> None:
        """Records a reply of the provider."""
        answer, key = exchange.answer, exchange.key
        assert answer is not None
        assert key is not None
        if exchange.failure is not None:
            return
        exchange.kept = True
        exchange.occurrence = self._made[key.key]
        self._made[key.key] += 1
        self.bind(exchange)
        if self._journal is None:
            return
        mark = Mark(
            server=key.server,
            tool=key.tool,
            effect="read",
            key=key.key,
            state=initial_state(key.server),
            writes=0,
            occurrence=exchange.occurrence,
            outcome=answer.outcome,
            kind="model",
            provenance=self._provenance,
        )
        clean = self._redactor.everywhere
        headers = {name: clean(value) for name, value in answer.headers.items()}
        self._journal.add(
            Recording(
                mark=mark,
                arguments=key.arguments,
                status=answer.status,
                headers=headers,
                body=self._redacted_bytes(answer.body),
            )
        )

    def _redacted_bytes(self, content: bytes) -> bytes:
        return self._redactor.everywhere(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def bind(self, exchange: ModelExchange) -> None:
        """Stores which turn a returned reply is, whatever its source."""
        assert exchange.key is not None
        if exchange.endpoint.wire is not None:
            self._keys.bind(exchange.body, exchange.key.key, exchange.replied, exchange.said)


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
