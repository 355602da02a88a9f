"""Sends the recorded requests to the real tools, and repeats those whose answers differ."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.cassette import Recording
from harness.drift.comparing.answer import answer_of, why_not_comparable
from harness.drift.observations import ALONE, CallObservations
from harness.drift.operation_index import OperationIndex
from harness.drift.prober import ProbeReply
from harness.drift.replayable_reads import ReplayableRead
from harness.drift.turns import BY_TURNS


@dataclass(frozen=True, kw_only=True)
class Probed:
    """The result of a probe."""

    looks: tuple[CallObservations, ...]
    recordings: tuple[Recording, ...]
    """The first live answer to each read, as a cassette keeps it."""
    not_asked: Mapping[str, int]
    """Why a recorded read could not be sent again -> how many."""
    problems: tuple[str, ...] = ()
    """Servers that could not be reset after the probe had written to them, in words."""
    restores: int = 0
    """How often servers were brought to their known state for reads after writes."""

    def with_more(self, other: "Probed") -> "Probed":
        """Both together."""
        reasons = {*self.not_asked, *other.not_asked}
        return Probed(
            looks=(*self.looks, *other.looks),
            recordings=(*self.recordings, *other.recordings),
            not_asked={why: self.not_asked.get(why, 0) + other.not_asked.get(why, 0) for why in sorted(reasons)},
            problems=(*self.problems, *other.problems),
            restores=self.restores + other.restores,
        )


class Sender(Protocol):
    """Sends recorded calls to the real tools."""

    async def send(self, ask: ReplayableRead) -> ProbeReply: ...


async def probe(prober: Sender, asks: Iterable[ReplayableRead], book: OperationIndex, *, samples: int = 1) -> Probed:
    """Sends each read `samples` times, and where an answer has changed as often as it takes to be sure."""
    looks: list[CallObservations] = []
    recordings: list[Recording] = []
    not_asked: dict[str, int] = {}
    for ask in asks:
        if ask.why_not is not None:
            not_asked[ask.why_not] = not_asked.get(ask.why_not, 0) + 1
            continue
        look = CallObservations(recorded=ask.recording, cases=set(ask.cases))
        first = await look_again(prober, ask, look, book, samples)
        await confirm(prober, ask, look, book)
        looks.append(look)
        if first is not None:
            recordings.append(first)
    return Probed(looks=tuple(looks), recordings=tuple(recordings), not_asked=not_asked)


async def confirm(prober: Sender, ask: ReplayableRead, look: CallObservations, book: OperationIndex) -> None:
    """Repeats a request whose answer has changed: often enough for certainty, and more often where answers disagree."""
    if look.has_changes and len(look.compared) < ALONE:
        await look_again(prober, ask, look, book, ALONE - len(look.compared))
    if look.disagrees and len(look.compared) < BY_TURNS:
        await look_again(prober, ask, look, book, BY_TURNS - len(look.compared))


async def look_again(
    prober: Sender, ask: ReplayableRead, look: CallObservations, book: OperationIndex, times: int
) -> Recording | None:
    """Repeats a request and returns the first of the new answers. A tool that does not answer is not called again."""
    first: Recording | None = None
    for _ in range(times):
        reply: ProbeReply = await prober.send(ask)
        if reply.recording is None:
            look.unavailable.append(reply.unavailable or "gave no answer")
            break
        recorded = _recorded(ask, reply.recording)
        if why_not_comparable(answer_of(reply.recording), answer_of(recorded)) is None:
            first = first or reply.recording
            look.took_ms.append(reply.took_ms)
        look.add(book, recorded, reply.recording)
        if look.unavailable:
            break
    return first


def _recorded(ask: ReplayableRead, live: Recording) -> Recording:
    """Of several cassettes' answers to one call, one with the live answer's status."""
    alike = (one for one in ask.recordings.values() if one.status == live.status)
    return next(alike, ask.recording)
