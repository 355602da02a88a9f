"""What one trial records of its tools, hosts and probes: where each call stands, what of it is kept, and what is not.

Kept is what the service made of a call. A failure of the moment (no connection, a time-out, 503) is given to the agent
and not kept; after a *write* that was lost, nobody knows what the service holds, so nothing is kept that depends on it.
"""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from harness.case import Doubles
from harness.cassette.journal import Journal
from harness.cassette.keys import CallKey
from harness.cassette.recording import Kind, Mark, Outcome, Recording
from harness.cassette.sharing import SharingWatch
from harness.cassette.state import WORLD, StateChain
from harness.cassette.transient_errors import is_transient


@dataclass(frozen=True, kw_only=True)
class CallPosition:
    """Where a call stands in the trial, taken before it is made."""

    call: CallKey
    state: str
    own: str
    others: dict[str, str]
    writes: int
    shared: str
    elsewhere: int | None
    occurrence: int
    settled: bool
    """False: a write that may have been made came before."""
    doubles: Doubles | None = None
    """None: the answer is not recorded where it is given."""

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
    """Where a call stands that is made now for the `occurrence`-th time, counted from 0."""
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
    """One trial's. What is asked through it is asked by one at a time of each state: see `StateChain.turn`."""

    journal: Journal
    chain: StateChain
    doubles: Doubles = field(default_factory=Doubles)
    """What of the suite's servers and hosts stands for another."""
    keeps_failures: bool = False
    """Of a trial whose answers are compared and not replayed."""
    failed: Counter[str] = field(default_factory=Counter)
    """Tool -> calls that failed for the moment."""
    unsettled: int = 0
    """Answers that were not kept, since a lost write came before them."""
    sharing: SharingWatch = field(default_factory=SharingWatch)
    _made: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _lost: set[str] = field(default_factory=set)

    def position(self, call: CallKey) -> CallPosition:
        """Where the call stands now."""
        number = self._made[call.key, self.chain.state(call.server)]
        settled = self._is_settled(call.server)
        return position_of(self.chain, call, number, settled=settled, doubles=self.doubles)

    def wrote(self, call: CallKey) -> None:
        """The call was sent; a write moves the state on, whatever came of it."""
        if call.effect == "write":
            self.chain.advance(call)

    def outcome(self, position: CallPosition, outcome: str, status: int) -> Outcome | None:
        """As what the answer is to be kept; None: not at all, and counted as such."""
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
        """Writes the recording of a call down. Raises CassetteError where a known secret stands in it."""
        call = position.call
        self._made[call.key, position.state] += 1
        if call.effect == "read" and call.server != WORLD:
            answer = hashlib.sha256(f"{recording.status}\0".encode() + recording.body).hexdigest()
            self.sharing.saw(call, (position.own, position.others), answer)
        self.journal.add(recording)

    def fail(self, call: CallKey) -> None:
        """The call has no answer of its service's. Of a write it is not known then whether it was made."""
        self.failed[call.tool] += 1
        if call.effect == "write" and not self.keeps_failures:
            self._lost.add(self.chain.names.of(call.server))

    def _is_settled(self, server: str) -> bool:
        if server == WORLD or server in self.chain.names.undeclared:
            return not self._lost
        return self.chain.names.of(server) not in self._lost
