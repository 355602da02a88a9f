"""Records model replies, and maps a reply's id to the request that it answers."""

from collections import defaultdict

from harness.case import Provenance
from harness.cassette import Mark, Recording, Redactor, TrialJournal, initial_state, is_transient_of_model
from harness.upstream.model.endpoints import RESPONSES
from harness.upstream.model.exchange import ModelExchange
from harness.upstream.model.keys import RequestKeys


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
        if answer.outcome != "answer" or is_transient_of_model(answer.status):
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
            chunks=answer.chunks,
            provenance=self._provenance,
        )
        clean = self._redactor.everywhere
        headers = {name: clean(value) for name, value in answer.headers.items()}
        self._journal.add(
            Recording(
                mark=mark, arguments=key.arguments, status=answer.status, headers=headers, body=self._clean(answer.body)
            )
        )

    def _clean(self, content: bytes) -> bytes:
        return self._redactor.everywhere(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def bind(self, exchange: ModelExchange) -> None:
        """Stores the key of a returned reply, whatever its source."""
        assert exchange.key is not None
        if exchange.endpoint.known_as == RESPONSES:
            self._keys.bind(exchange.replied.id, exchange.key.key, exchange.occurrence)
