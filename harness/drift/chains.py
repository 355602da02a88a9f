"""Finds the writes that lead to the state of a recorded read, and the servers on which they may be sent.

A cassette stores for each call the hash of the writes before it. The writes themselves are found by following the
hashes from the initial state: see `harness.cassette.state`.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.case import StateNames, Suite, state_names
from harness.cassette import CallKey, Cassette, Recording, StateChain
from harness.cassette.state import WORLD
from harness.drift.replayable_reads import AFTER_A_WRITE, ReplayableRead

MOST_RESTORES = 20
"""The maximum number of resets and restores by a probe for reads after writes."""
_MOST_STATES = 2000
"""The number of states of one cassette that are examined to find the writes before a read."""

Writes = tuple[Recording, ...]


@dataclass(frozen=True, kw_only=True)
class ChainReplay:
    """The writes of one cassette in their order, and the reads that are sent between and after them."""

    cassette: Cassette
    """The cassette of the case whose values the writes contain."""
    writes: Writes
    reads: Mapping[int, Sequence[ReplayableRead]]
    """Number of preceding writes -> the reads that are sent after them."""
    resets: tuple[str, ...]
    """Live servers that are reset before and after it."""

    @property
    def servers(self) -> frozenset[str]:
        """All servers that are called."""
        asked = (ask.recording for asks in self.reads.values() for ask in asks)
        return frozenset(one.mark.server for one in (*self.writes, *asked))


@dataclass(kw_only=True)
class ReplayPlan:
    """The calls that are sent after writes, and the reads that cannot be sent."""

    replays: list[ChainReplay] = field(default_factory=list)
    not_asked: dict[str, int] = field(default_factory=dict)
    """Reason -> number of reads."""

    def leave_out(self, reason: str, count: int = 1) -> None:
        self.not_asked[reason] = self.not_asked.get(reason, 0) + count


def plan_replays(suite: Suite, cassettes: Mapping[str, Cassette], asks: Iterable[ReplayableRead]) -> ReplayPlan:
    """One replay for each longest chain of writes; the reads of the states that it passes are sent on the way."""
    plan, names = ReplayPlan(), state_names(suite)
    found: dict[str, dict[tuple[str, str], Writes]] = {}
    placed: list[tuple[str, Writes, ReplayableRead]] = []
    for ask in asks:
        for case in ask.cases:
            if case not in found:
                found[case] = _chains(cassettes[case], names)
        place = next(((case, found[case][own]) for case in ask.cases if (own := _met(ask)) in found[case]), None)
        problem = _unmet(ask) if place is None else _why_not_writable(suite, names, place[1])
        if place is None or problem is not None:
            plan.leave_out(f"{AFTER_A_WRITE}{problem}")
        else:
            placed.append((*place, ask))
    grouped = _grouped(placed)
    grouped.sort(key=lambda one: -sum(map(len, one[2].values())))
    for case, writes, reads in grouped[:MOST_RESTORES]:
        plan.replays.append(_replay(suite, names, cassettes[case], writes, reads))
    for _, _, reads in grouped[MOST_RESTORES:]:
        reason = f"{AFTER_A_WRITE}; a probe restores {MOST_RESTORES} times at most: choose with --case or --tool"
        plan.leave_out(reason, sum(map(len, reads.values())))
    return plan


def _met(ask: ReplayableRead) -> tuple[str, str]:
    return ask.recording.mark.server, ask.recording.mark.state


def _unmet(ask: ReplayableRead) -> str:
    if ask.recording.mark.kind not in {"tool", "http"}:
        return "; a live run calls it"
    return ", and the cassette does not hold every write that led there"


def _chains(cassette: Cassette, names: StateNames) -> dict[tuple[str, str], Writes]:
    """(Server, state) of the cassette's reads -> the fewest writes that lead there."""
    calls = [one for one in cassette.recordings if one.mark.kind in {"tool", "http"}]
    writes = [one for one in calls if one.mark.effect == "write"]
    readers = {one.mark.server for one in calls if one.mark.effect == "read"}
    found: dict[tuple[str, str], Writes] = {}
    seen, waiting = set[str](), deque[Writes]([()])
    while waiting and len(seen) < _MOST_STATES:
        made = waiting.popleft()
        chain = chain_after(made, names)
        world = chain.state(WORLD)
        if world in seen:
            continue
        seen.add(world)
        for server in readers:
            found.setdefault((server, chain.state(server)), made)
        waiting.extend((*made, one) for one in writes if one.mark.state == chain.state(one.mark.server))
    return found


def chain_after(writes: Iterable[Recording], names: StateNames) -> StateChain:
    """The states after these writes."""
    chain = StateChain(names)
    for one in writes:
        chain.advance(key_of(one))
    return chain


def key_of(recording: Recording) -> CallKey:
    """The recorded call as a trial would make it."""
    mark = recording.mark
    return CallKey(server=mark.server, tool=mark.tool, effect=mark.effect, arguments=recording.arguments, key=mark.key)


def _why_not_writable(suite: Suite, names: StateNames, writes: Writes) -> str | None:
    """Why the writes may not be sent; None: every written server is restored or disposable."""
    for name in sorted({one.mark.server for one in writes}):
        server = suite.reached.get(name)
        if server is None:
            return f", and the suite no longer has the server {name!r}"
        if server.service is not None:
            continue
        if not server.disposable:
            return f", and the server {name!r} is not `disposable`: a live run calls it"
        if not _resets(suite, names, {name}):
            return f", and the server {name!r} has no `reset:` to bring it to a known state"
    if any(one.mark.outcome != "answer" for one in writes):
        return ", and a write before it was recorded without an answer"
    return None


def _resets(suite: Suite, names: StateNames, written: Iterable[str]) -> tuple[str, ...]:
    """Disposable live servers that declare `reset` and share a state with a written server."""
    states = {names.of(name) for name in written}
    return tuple(
        name
        for name, one in suite.reached.items()
        if one.reset is not None and one.disposable and names.of(name) in states
    )


def _grouped(
    placed: Sequence[tuple[str, Writes, ReplayableRead]],
) -> list[tuple[str, Writes, dict[int, list[ReplayableRead]]]]:
    """Each read with the longest chain of its case that begins with the read's preceding writes."""
    grouped: list[tuple[str, Writes, dict[int, list[ReplayableRead]]]] = []
    for case, writes, ask in sorted(placed, key=lambda one: -len(one[1])):
        place = next((one for one in grouped if one[0] == case and one[1][: len(writes)] == writes), None)
        if place is None:
            place = (case, writes, {})
            grouped.append(place)
        place[2].setdefault(len(writes), []).append(ask)
    return grouped


def _replay(
    suite: Suite, names: StateNames, cassette: Cassette, writes: Writes, reads: Mapping[int, Sequence[ReplayableRead]]
) -> ChainReplay:
    return ChainReplay(
        cassette=cassette,
        writes=writes,
        reads=reads,
        resets=_resets(suite, names, {one.mark.server for one in writes}),
    )
