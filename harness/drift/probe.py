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

    observations: tuple[CallObservations, ...]
    recordings: tuple[Recording, ...]
    """The first live answer to each read, in the form of a cassette."""
    not_asked: Mapping[str, int]
    """Why recorded reads could not be sent again -> their number."""
    problems: tuple[str, ...] = ()
    """Describes servers that could not be reset after the probe had written to them."""
    restores: int = 0
    """The number of resets and restores for reads after writes."""

    def with_more(self, other: "Probed") -> "Probed":
        """Both results combined."""
        reasons = {*self.not_asked, *other.not_asked}
        return Probed(
            observations=(*self.observations, *other.observations),
            recordings=(*self.recordings, *other.recordings),
            not_asked={why: self.not_asked.get(why, 0) + other.not_asked.get(why, 0) for why in sorted(reasons)},
            problems=(*self.problems, *other.problems),
            restores=self.restores + other.restores,
        )


class Sender(Protocol):
    """Sends recorded calls to the real tools."""

    async def send(self, ask: ReplayableRead) -> ProbeReply: ...


async def probe(
    prober: Sender, asks: Iterable[ReplayableRead], operations: OperationIndex, *, samples: int = 1
) -> Probed:
    """Sends each read `samples` times, and a read with a changed answer as often as certainty requires."""
    observations: list[CallObservations] = []
    recordings: list[Recording] = []
    not_asked: dict[str, int] = {}
    for ask in asks:
        if ask.why_not is not None:
            not_asked[ask.why_not] = not_asked.get(ask.why_not, 0) + 1
            continue
        observation = CallObservations(recorded=ask.recording, cases=set(ask.cases))
        first = await repeat_request(prober, ask, observation, operations, samples)
        await confirm(prober, ask, observation, operations)
        observations.append(observation)
        if first is not None:
            recordings.append(first)
    return Probed(observations=tuple(observations), recordings=tuple(recordings), not_asked=not_asked)


async def confirm(
    prober: Sender, ask: ReplayableRead, observation: CallObservations, operations: OperationIndex
) -> None:
    """Repeats a request whose answer has changed: often enough to confirm it, and more often where answers disagree."""
    if observation.has_changes and len(observation.compared) < ALONE:
        await repeat_request(prober, ask, observation, operations, ALONE - len(observation.compared))
    if observation.disagrees and len(observation.compared) < BY_TURNS:
        await repeat_request(prober, ask, observation, operations, BY_TURNS - len(observation.compared))


async def repeat_request(
    prober: Sender, ask: ReplayableRead, observation: CallObservations, operations: OperationIndex, times: int
) -> Recording | None:
    """Repeats a request and returns the first of the new answers. A tool that does not answer is not called again."""
    first: Recording | None = None
    for _ in range(times):
        reply: ProbeReply = await prober.send(ask)
        if reply.recording is None:
            observation.unavailable.append(reply.unavailable or "gave no answer")
            break
        recorded = _recorded(ask, reply.recording)
        if why_not_comparable(answer_of(reply.recording), answer_of(recorded)) is None:
            first = first or reply.recording
            observation.took_ms.append(reply.took_ms)
        observation.add(operations, recorded, reply.recording)
        if observation.unavailable:
            break
    return first


def _recorded(ask: ReplayableRead, live: Recording) -> Recording:
    """One of several cassettes' answers to a call, preferably with the live answer's status."""
    alike = (one for one in ask.recordings.values() if one.status == live.status)
    return next(alike, ask.recording)
