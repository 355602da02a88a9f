"""The recording of one trial: the position of each call, which answers are stored, and the cassette of that
trial alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from harness.cassettes.cassette import Cassette
from harness.cassettes.journals import TrialJournal
from harness.cassettes.keys import WORLD, CallKey, StateChain
from harness.cassettes.recordings import Kind, Mark, Outcome, Recording
from harness.cassettes.transience import is_transient
from harness.suite.models import Doubles
from harness.suite.suites import StateNames

# The service's answers are stored. The agent receives a transient error (no connection, a timeout, 503), but it is not
# stored; after a *write* that was lost, the state of the service is unknown, so no answer that depends on it is stored.


@dataclass(frozen=True, kw_only=True)
class CallPosition:
    """The position of a call in the trial, determined before the call is made."""

    call: CallKey
    state: str
    writes: int
    shared: str
    elsewhere: int | None
    occurrence: int
    settled: bool
    """False if a write that may have been made precedes the call."""
    doubles: Doubles | None = None
    """None if the answer is not recorded at the position where it is returned."""

    def mark(self, kind: Kind, outcome: Outcome = "answer") -> Mark:
        """The mark of a recording of the call, which is being answered now."""
        call, doubles = self.call, self.doubles
        return Mark(
            server=call.server,
            tool=call.tool,
            effect=call.effect,
            key=call.key,
            state=self.state,
            writes=self.writes,
            shared=self.shared,
            elsewhere=self.elsewhere,
            occurrence=self.occurrence,
            outcome=outcome,
            kind=kind,
            provenance=(doubles and doubles.provenance(kind, call.server, call.arguments)) or "service",
        )


def position_of(
    chain: StateChain, call: CallKey, occurrence: int, *, settled: bool = True, doubles: Doubles | None = None
) -> CallPosition:
    """The position of a call that is made now for the `occurrence`-th time, counted from 0."""
    server = call.server
    name = chain.name_of(server)
    return CallPosition(
        call=call,
        state=chain.state(server),
        writes=chain.writes(server),
        shared="" if name == server else name,
        elsewhere=chain.elsewhere(server),
        occurrence=occurrence,
        settled=settled,
        doubles=doubles,
    )


@dataclass(kw_only=True)
class TrialRecording:
    """The recording of one trial. Calls in the same state are made one at a time: see `StateChain.turn`."""

    journal: TrialJournal
    chain: StateChain
    doubles: Doubles = field(default_factory=Doubles)
    """Which of the suite's servers and hosts are doubles of real ones."""
    keeps_failures: bool = False
    """The journal of a trial whose answers are compared and not replayed."""
    failed: Counter[str] = field(default_factory=Counter)
    """Tool -> number of calls that ended in a transient error."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Tool -> number of answers that are too large, or not in the tool's protocol."""
    unsettled: int = 0
    """The number of answers that were not recorded, because a lost write came before them."""
    _made: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _lost: set[str] = field(default_factory=set)

    def position(self, call: CallKey) -> CallPosition:
        """The current position of the call."""
        number = self._made[call.key, self.chain.state(call.server)]
        settled = self._is_settled(call.server)
        return position_of(self.chain, call, number, settled=settled, doubles=self.doubles)

    def wrote(self, call: CallKey) -> None:
        """Notes that the call was sent; a write advances the state, whatever its result."""
        if call.effect == "write":
            self.chain.advance(call)

    def outcome(self, position: CallPosition, outcome: str, status: int) -> Outcome | None:
        """The outcome under which the answer is recorded; None if it is not recorded, which is counted."""
        call = position.call
        match outcome:
            case "answer" if not is_transient(status):
                kept: Outcome | None = "answer"
            case "timeout" | "reset" if self.keeps_failures:
                return "timeout" if outcome == "timeout" else "reset"
            case _:
                self.fail(call, unreadable=outcome in {"garbled", "oversized"})
                return None
        if not position.settled:
            self.unsettled += 1
            return None
        return kept

    def keep(self, position: CallPosition, recording: Recording) -> None:
        """Stores the recording of a call. Raises CassetteError if it contains a known secret."""
        call = position.call
        self._made[call.key, position.state] += 1
        self.journal.add(recording)

    def fail(self, call: CallKey, *, unreadable: bool = False) -> None:
        """Notes that the service did not answer the call. Whether a write was made is then unknown."""
        (self.unreadable if unreadable else self.failed)[call.tool] += 1
        if call.effect == "write" and not self.keeps_failures:
            self._lost.add(self.chain.name_of(call.server))

    def _is_settled(self, server: str) -> bool:
        if server == WORLD or server in self.chain.names.undeclared:
            return not self._lost
        return self.chain.name_of(server) not in self._lost


# The calls pass the same state chain as in a recording, so that the same calls get the same answers.


@dataclass(frozen=True, kw_only=True)
class ObservedAnswer:
    """An answer in the form in which a tool sends it."""

    status: int
    body: bytes
    outcome: Outcome = "answer"


@dataclass(frozen=True, kw_only=True)
class ObservedCall:
    """A call that reached its tool; `answer` is None when the answer is unknown, or was changed by a fault."""

    key: CallKey
    answer: ObservedAnswer | None


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """The recordings, and the calls without an answer."""

    recordings: tuple[Recording, ...]
    unanswered: tuple[CallKey, ...]


def excerpt(cassette: Cassette, calls: Iterable[ObservedCall], names: StateNames | None = None) -> Excerpt:
    """The recordings that replay the calls in their order. Recordings of other kinds (models, hosts) are all
    included.
    """
    kept = {one.place: one for one in cassette.recordings if one.mark.kind != "tool"}
    missing: list[CallKey] = []
    chain = StateChain(names)
    made: defaultdict[tuple[str, str], int] = defaultdict(int)
    for call in calls:
        key = call.key
        number = made[key.key, chain.state(key.server)]
        position = position_of(chain, key, number)
        made[key.key, position.state] += 1
        if key.effect == "write":
            chain.advance(key)
        found = list(_recorded_answers(cassette, key, position.state, number)) or list(_new_recordings(call, position))
        kept |= {one.place: one for one in found}
        if not found:
            missing.append(key)
    return Excerpt(recordings=tuple(kept.values()), unanswered=tuple(missing))


def _recorded_answers(cassette: Cassette, key: CallKey, state: str, number: int) -> Iterator[Recording]:
    """The answers up to the `number`-th: each of them was returned, and a cassette must not have gaps."""
    answers = cassette.answers(key.key, state)
    if number < len(answers) or key.effect == "read":
        yield from answers[: number + 1]


def _new_recordings(call: ObservedCall, position: CallPosition) -> Iterator[Recording]:
    answer = call.answer
    if answer is not None:
        mark = position.mark("tool", answer.outcome).model_copy(update={"provenance": "trajectory"})
        yield Recording(mark=mark, arguments=call.key.arguments, status=answer.status, body=answer.body)
