"""The recording of one trial's tools, hosts and probes: the position of each call, and which answers are stored.

The service's answers are stored. The agent receives a transient error (no connection, a timeout, 503), but it is not
stored; after a *write* that was lost, the state of the service is unknown, so no answer that depends on it is stored.
"""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from harness.case import Doubles
from harness.cassette.keys import CallKey
from harness.cassette.recorder.journal import TrialJournal
from harness.cassette.recorder.sharing import SharingWatch
from harness.cassette.recorder.transient_errors import is_transient
from harness.cassette.recording import Kind, Mark, Outcome, Recording
from harness.cassette.state import WORLD, StateChain


@dataclass(frozen=True, kw_only=True)
class CallPosition:
    """The position of a call in the trial, determined before the call is made."""

    call: CallKey
    state: str
    own: str
    others: dict[str, str]
    writes: int
    shared: str
    elsewhere: int | None
    occurrence: int
    settled: bool
    """False where a write that may have been made precedes the call."""
    doubles: Doubles | None = None
    """None where the answer is not recorded at the position where it is returned."""

    def mark(self, kind: Kind, outcome: Outcome = "answer", chunks: tuple[tuple[int, int], ...] = ()) -> Mark:
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
            chunks=chunks,
            provenance=None if doubles is None else doubles.provenance(kind, call.server, call.arguments),
        )


def position_of(
    chain: StateChain, call: CallKey, occurrence: int, *, settled: bool = True, doubles: Doubles | None = None
) -> CallPosition:
    """The position of a call that is made now for the `occurrence`-th time, counted from 0."""
    server = call.server
    name = chain.names.of(server)
    return CallPosition(
        call=call,
        state=chain.state(server),
        own=chain.own(server),
        others=chain.others(server),
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
    unsettled: int = 0
    """The number of answers that were not recorded, because a lost write came before them."""
    sharing: SharingWatch = field(default_factory=SharingWatch)
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
        """The outcome under which the answer is recorded; None where it is not recorded, which is counted."""
        call = position.call
        match outcome:
            case "answer" if not is_transient(status):
                kept: Outcome | None = "answer"
            case "timeout" | "reset" if self.keeps_failures:
                return "timeout" if outcome == "timeout" else "reset"
            case _:
                self.fail(call)
                return None
        if not position.settled:
            self.unsettled += 1
            return None
        return kept

    def keep(self, position: CallPosition, recording: Recording) -> None:
        """Stores the recording of a call. Raises CassetteError where it contains a known secret."""
        call = position.call
        self._made[call.key, position.state] += 1
        if call.effect == "read" and call.server != WORLD:
            answer = hashlib.sha256(f"{recording.status}\0".encode() + recording.body).hexdigest()
            self.sharing.saw(call, (position.own, position.others), answer)
        self.journal.add(recording)

    def fail(self, call: CallKey) -> None:
        """Notes that the service did not answer the call. Whether a write was made is then unknown."""
        self.failed[call.tool] += 1
        if call.effect == "write" and not self.keeps_failures:
            self._lost.add(self.chain.names.of(call.server))

    def _is_settled(self, server: str) -> bool:
        if server == WORLD or server in self.chain.names.undeclared:
            return not self._lost
        return self.chain.names.of(server) not in self._lost
