"""Records the answers of one trial's calls: what is common to all kinds, and what is special to tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from harness.cassettes.keys import CallKey
from harness.cassettes.normalisation import Normalisation, NormalisedAnswer
from harness.cassettes.recordings import Kind, Recording
from harness.cassettes.redaction import KEPT_HEADERS, Redactor
from harness.cassettes.trial_recording import CallPosition, TrialRecording
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools


class Keyed(Protocol):
    """A request with its cassette key."""

    @property
    def key(self) -> CallKey: ...


R = TypeVar("R", bound=Keyed)
Ask = Callable[[R, bool], Awaitable[ToolAnswer | ToolMiss | None]]
"""Sends the request. True: the agent must not receive the answer yet, because it may be changed. None: no answer that
can be stored.
"""


@dataclass(frozen=True)
class Codec(Generic[R]):
    """How calls of one kind are recorded; as it is, for those whose request and answer stay as they are."""

    kind: Kind
    streams: bool = False
    """Whether the agent receives an answer in pieces, unless it is delayed."""

    def sent(self, request: R, normalisation: Normalisation) -> R:
        """The request with the placeholders replaced by the values of this run."""
        del normalisation
        return request

    def headers(self, request: R, answer: ToolAnswer) -> Mapping[str, str]:
        """The headers to store, which may hold secrets."""
        del request
        return answer.headers

    def key(self, request: R, answer: ToolAnswer) -> CallKey:
        """The key of a request that was answered so."""
        del answer
        return request.key


@dataclass(frozen=True, kw_only=True)
class Recorder(Generic[R]):
    """Records every answer that belongs to a call of one trial.

    Calls in the same state are made one after the other: the cassette stores which writes preceded each answer, which
    is only known if no write is in progress.
    """

    codec: Codec[R]
    trial_recording: TrialRecording
    redactor: Redactor
    normalisation: Normalisation | None = None
    """None: the agent receives every answer unchanged."""

    async def record(self, request: R, ask: Ask[R]) -> tuple[ToolAnswer | ToolMiss | None, bool]:
        """The answer in the form that the agent receives, and whether it was held back."""
        recording, key, normalisation = self.trial_recording, request.key, self.normalisation
        async with recording.chain.turn(key.server):
            if normalisation is not None:
                key = normalisation.cassette.resolved(key, recording.chain.state(key.server))
            position = recording.position(key)
            held_back = normalisation is not None and (not self.codec.streams or normalisation.may_change(position))
            sent = request if normalisation is None else self.codec.sent(request, normalisation)
            try:
                answer = await ask(sent, held_back)
                if isinstance(answer, ToolAnswer) and (told := self.codec.key(request, answer)) != key:
                    key, position = told, recording.position(told)
            except BaseException:
                recording.fail(key)
                raise
            finally:
                recording.wrote(key)
            if not isinstance(answer, ToolAnswer):
                return answer, held_back
            return self._record_answer(request, position, answer, normalisation if held_back else None), held_back

    def _record_answer(
        self, request: R, position: CallPosition, answer: ToolAnswer, normalisation: Normalisation | None
    ) -> ToolAnswer:
        outcome = self.trial_recording.outcome(position, answer.outcome, answer.status)
        if outcome is None:
            return answer
        today, shown, stored = answer, answer, None
        if normalisation is not None and outcome == "answer":
            normalised = normalisation.given(position, answer.status, answer.body, self.redactor.body(answer.body))
            shown, stored = _normalised_answer(answer, normalised), normalised.held
            today = replace(answer, body=normalised.today)
        headers = self.codec.headers(request, today)
        self.trial_recording.keep(
            position,
            stored
            or Recording(
                mark=position.mark(self.codec.kind, outcome),
                arguments=position.call.arguments,
                status=today.status or 504,
                headers={name: self.redactor.everywhere(value) for name, value in headers.items()},
                body=self.redactor.body(today.body),
            ),
        )
        return shown


def _normalised_answer(answer: ToolAnswer, normalised: NormalisedAnswer) -> ToolAnswer:
    """The answer in the form that the agent receives."""
    headers = answer.headers if normalised.headers is None else normalised.headers
    return replace(answer, status=normalised.status, headers=headers, body=normalised.body)


@dataclass(frozen=True)
class RecordingSource:
    """Records the answers of another source."""

    inner: TrialTools
    recorder: Recorder[ToolRequest]

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        answer, _ = await self.recorder.record(request, self._ask)
        assert answer is not None  # tools always answer
        return answer

    async def _ask(self, request: ToolRequest, _: bool) -> ToolAnswer | ToolMiss:
        return await self.inner.call(request)


@dataclass(frozen=True)
class ToolCodec(Codec[ToolRequest]):
    """How calls of tools are recorded."""

    kind: Kind = "tool"

    @override
    def sent(self, request: ToolRequest, normalisation: Normalisation) -> ToolRequest:
        arguments = normalisation.sent(request.arguments, request.key.tool)
        assert isinstance(arguments, dict)  # replacement keeps the structure
        return replace(request, arguments=arguments)

    @override
    def headers(self, request: ToolRequest, answer: ToolAnswer) -> Mapping[str, str]:
        del request
        return {name: value for name, value in answer.headers.items() if name in KEPT_HEADERS}
