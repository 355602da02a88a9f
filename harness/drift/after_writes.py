"""Sends recorded writes to reset servers again, and the recorded reads that followed them.

Generated values (ids, times, tokens) are new each time. They are learned as during re-recording (see
`harness.cassettes.normalisation`): requests are sent with current values, and answers are compared with the
values of the cassette. A read or write with an unknown generated value is omitted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence, Set

from pydantic import JsonValue

from harness.cassettes.bindings import identity_kinds
from harness.cassettes.cassette import Cassette
from harness.cassettes.normalisation import Normalisation
from harness.cassettes.recordings import Recording
from harness.cassettes.trial_recording import CallPosition, position_of
from harness.drift.answers import answer_of
from harness.drift.observations import CallObservations, OperationIndex
from harness.drift.probe import Probed, Prober, ProbeReply, confirm, repeat_request
from harness.drift.replayable import (
    AFTER_A_WRITE,
    CallBuilder,
    ChainReplay,
    ReplayableRead,
    chain_after,
    generated_values,
    is_at_start,
    key_of,
)
from harness.errors import OutOfTime
from harness.suite.suites import Suite, state_names
from harness.values import JsonObject


class AfterWrites:
    """One replay of a chain of writes."""

    def __init__(self, operations: OperationIndex, replay: ChainReplay, secrets: Mapping[str, str]) -> None:
        suite = operations.suite
        self._operations = operations
        self._replay = replay
        self._names = state_names(suite)
        self._builder = CallBuilder(suite, secrets, set())
        self._normalisation = Normalisation(
            cassette=replay.cassette,
            declared=_volatile_pointers(suite),
            refresh=True,
            kinds=identity_kinds({tool.name: tool.parameters for tool in suite.tools}),
        )
        self._generated = _generated(suite, replay.cassette, replay.writes)
        self._seen: set[str] = set()
        """Values of current answers, translated into values of the cassette."""
        self._looks: list[CallObservations] = []
        self._recordings: list[Recording] = []
        self._not_asked: dict[str, int] = {}

    async def run(self, prober: Prober) -> Probed:
        """Resets servers, sends writes and reads, and resets live servers again at the end."""
        problem = await prober.reset(self._replay.resets)
        if problem is not None:
            self._leave_out(f"; {problem}", 0)
            return self._probed()
        try:
            await self._walk(prober)
        finally:
            problem = await prober.reset(self._replay.resets)
        return self._probed(None if problem is None else f"after the probe's writes: {problem}")

    async def _walk(self, prober: Prober) -> None:
        for number, write in enumerate(self._replay.writes):
            await self._read(prober, number)
            problem = await self._write(prober, write, number)
            if problem is not None:
                self._leave_out(f", and {write.mark.tool}, a write before it, {problem}", number + 1)
                return
        await self._read(prober, len(self._replay.writes))

    async def _write(self, prober: Prober, write: Recording, number: int) -> str | None:
        """Sends a write. Returns the reason why the state could not be reached, or None."""
        ask = self._ask({"": write})
        if ask.call is None:
            return f"cannot be sent: {ask.why_not}"
        reply = await prober.send(ask)
        if reply.recording is None:
            return f"was not answered: {reply.unavailable}"
        old, new = answer_of(write), answer_of(reply.recording)
        if new.group != old.group or new.is_silent:
            return f"was answered with status {new.status} instead of {old.status}"
        self._learn(write, reply, number)
        return None

    async def _read(self, prober: Prober, number: int) -> None:
        """Sends the reads of a state; those that need values from another read's answer come after it."""
        waiting = list(self._replay.reads.get(number, ()))
        while waiting:
            unknown: list[tuple[ReplayableRead, str]] = []
            for ask in waiting:
                sendable = self._ask(self._recordings_of(ask))
                if sendable.call is None:
                    unknown.append((ask, sendable.why_not or ""))
                else:
                    await self._compare(prober, sendable, number)
            if len(unknown) == len(waiting):
                for _, why_not in unknown:
                    self._count(f"{AFTER_A_WRITE}, and {why_not}")
                return
            waiting = [ask for ask, _ in unknown]

    async def _compare(self, prober: Prober, ask: ReplayableRead, number: int) -> None:
        observation = CallObservations(recorded=ask.recording, cases=set(ask.cases))
        levelled = _Normalised(prober, self._operations, self._normalisation)
        first = await repeat_request(levelled, ask, observation, self._operations, 1)
        await confirm(levelled, ask, observation, self._operations)
        self._looks.append(observation)
        if first is not None:
            self._recordings.append(first)
        if levelled.last is not None:
            self._learn(ask.recording, levelled.last, number)

    def _recordings_of(self, ask: ReplayableRead) -> dict[str, Recording]:
        """The recordings, those of the replayed cassette first, because their values are known."""
        held = {id(one) for one in self._replay.cassette.recordings}
        return dict(sorted(ask.recordings.items(), key=lambda one: id(one[1]) not in held))

    def _ask(self, recordings: Mapping[str, Recording]) -> ReplayableRead:
        recording = next(iter(recordings.values()))
        recorded: JsonObject = json.loads(recording.arguments)
        unknown = self._unknown(recorded)
        if unknown:
            why_not = "it uses a value that an earlier call of the same run generated, and the current value is unknown"
            return ReplayableRead(recordings=recordings, call=None, why_not=why_not)
        arguments = self._normalisation.sent(recorded, recording.mark.tool)
        assert isinstance(arguments, dict)  # replacement keeps the structure
        try:
            return ReplayableRead(recordings=recordings, call=self._builder.call(recording, arguments))
        except (ValueError, OutOfTime) as error:
            return ReplayableRead(recordings=recordings, call=None, why_not=str(error))

    def _unknown(self, arguments: JsonObject) -> set[str]:
        asked = set(_values(arguments)) & self._generated
        return {value for value in asked if value not in self._seen and not self._normalisation.knows(value)}

    def _learn(self, recorded: Recording, reply: ProbeReply, number: int) -> None:
        assert reply.recording is not None  # the caller has checked it
        self._normalisation.given(
            self._position_of(recorded, number), reply.recording.status, reply.body, reply.recording.body
        )
        self._seen |= set(_values_in(reply.recording.model_copy(update={"body": reply.body})))

    def _position_of(self, recorded: Recording, number: int) -> CallPosition:
        chain = chain_after(self._replay.writes[:number], self._names)
        return position_of(chain, key_of(recorded), recorded.mark.occurrence)

    def _leave_out(self, reason: str, since: int) -> None:
        for number, asks in self._replay.reads.items():
            for _ in asks if number >= since else ():
                self._count(f"{AFTER_A_WRITE}{reason}")

    def _count(self, reason: str) -> None:
        self._not_asked[reason] = self._not_asked.get(reason, 0) + 1

    def _probed(self, problem: str | None = None) -> Probed:
        return Probed(
            observations=tuple(self._looks),
            recordings=tuple(self._recordings),
            not_asked=self._not_asked,
            problems=() if problem is None else (problem,),
        )


class _Normalised:
    """Sends calls, and translates each answer that differs from the recorded one into values of the cassette."""

    def __init__(self, prober: Prober, operations: OperationIndex, normalisation: Normalisation) -> None:
        self._prober = prober
        self._operations = operations
        self._normalisation = normalisation
        self.last: ProbeReply | None = None
        """The last answer, unchanged."""

    async def send(self, ask: ReplayableRead) -> ProbeReply:
        reply = await self._prober.send(ask)
        if reply.recording is None:
            return reply
        self.last = reply
        live, recorded = reply.recording, ask.recording
        # A short number may be the id of another object: an answer that already agrees is not translated.
        if not self._operations.compare(recorded, answer_of(recorded), answer_of(live)).changes:
            return reply
        body = self._normalisation.normalised(live.body, recorded.mark.tool)
        normalised = live.model_copy(update={"body": body})
        return ProbeReply(recording=normalised, body=reply.body)


def _volatile_pointers(suite: Suite) -> dict[str, Sequence[str]]:
    """Tool -> pointers to the values that its answers generate each time."""
    tools = {tool.name: (*tool.volatile, *tool.generated_ids) for tool in suite.tools}
    return {**tools, **{host.tool: host.volatile for host in suite.hosts}}


def _generated(suite: Suite, cassette: Cassette, writes: Sequence[Recording]) -> Set[str]:
    """Recorded values that calls of one run may have generated: they appear in answers before any write contains them.

    An answer that repeats a value of its own request is ignored, and so are reads before the first write.
    """
    names = state_names(suite)
    counts: dict[str, int] = {}
    known: set[str] = set()
    asked: dict[str, int] = {}
    for number in range(len(writes) + 1):
        chain = chain_after(writes[:number], names)
        reads = [one for one in cassette.recordings if one.mark.effect == "read" and one.mark.kind in {"tool", "http"}]
        for read in (one for one in reads if one.mark.state == chain.state(one.mark.server)):
            if is_at_start(read):
                known |= set(_values_in(read))
            else:
                _note_first_use(counts, _new_values(read), number)
        for write in writes[number : number + 1]:
            _note_first_use(asked, _asked_by(write), number)
            _note_first_use(counts, _new_values(write), number + 1)
    late = {value for value, number in counts.items() if value in asked and asked[value] < number}
    return (set(counts) - known - late) | generated_values(suite, {"": cassette})


def _note_first_use(first: dict[str, int], values: Set[str], number: int) -> None:
    for value in values:
        first.setdefault(value, number)


def _new_values(recording: Recording) -> Set[str]:
    return set(_values_in(recording)) - _asked_by(recording)


def _asked_by(recording: Recording) -> Set[str]:
    return set(_values(json.loads(recording.arguments)))


def _values_in(recording: Recording) -> Iterator[str]:
    return _values(answer_of(recording).value)


def _values(value: JsonValue) -> Iterator[str]:
    """Texts, and numbers as texts; for a path also its segments."""
    match value:
        case bool() | None:
            return
        case str():
            yield from filter(None, {value, *value.split("/")})
        case int() | float():
            yield str(value)
        case list():
            for item in value:
                yield from _values(item)
        case dict():
            for item in value.values():
                yield from _values(item)
