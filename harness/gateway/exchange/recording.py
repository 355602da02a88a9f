"""Records answers as they arrive, for every kind of call but model requests."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from harness.cassette import (
    CallKey,
    CallPosition,
    Mark,
    Normalisation,
    NormalisedAnswer,
    Outcome,
    Recording,
    Redactor,
    TrialRecording,
)
from harness.upstream import ToolAnswer, ToolMiss


class Keyed(Protocol):
    """A request with its cassette key."""

    @property
    def key(self) -> CallKey: ...


R = TypeVar("R", bound=Keyed)
Ask = Callable[[R, bool], Awaitable[ToolAnswer | ToolMiss | None]]
"""Sends the request. True: the agent must not receive the answer yet, because it may be changed. None: no answer that
can be stored.
"""


class Codec(Protocol[R]):
    """What differs between the kinds of calls that are recorded."""

    @property
    def streams(self) -> bool:
        """Whether the agent receives an answer in pieces, unless it is held back."""
        ...

    def sent(self, request: R, normalisation: Normalisation) -> R:
        """The request with the placeholders replaced by the values of this run."""
        ...

    def mark(self, position: CallPosition, outcome: Outcome, answer: ToolAnswer) -> Mark:
        """The recording's place on the cassette."""
        ...

    def headers(self, request: R, answer: ToolAnswer) -> Mapping[str, str]:
        """The headers to store, which may hold secrets."""
        ...


@dataclass(frozen=True, kw_only=True)
class Recorder(Generic[R]):
    """Records every answer that belongs to a call of one trial.

    Calls in the same state are made one after the other: the cassette stores which writes preceded each answer, which
    is only known where no write is in progress.
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
            position = recording.position(key)
            held_back = normalisation is not None and (not self.codec.streams or normalisation.may_change(position))
            sent = request if normalisation is None else self.codec.sent(request, normalisation)
            try:
                answer = await ask(sent, held_back)
            except BaseException:
                recording.fail(key)
                raise
            finally:
                recording.wrote(key)
            if not isinstance(answer, ToolAnswer):
                return answer, held_back
            return self._kept(request, position, answer, normalisation if held_back else None), held_back

    def _kept(
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
                mark=self.codec.mark(position, outcome, answer),
                arguments=position.call.arguments,
                status=today.status or 504,
                headers={name: self.redactor.text(value) for name, value in headers.items()},
                body=self.redactor.body(today.body),
            ),
        )
        return shown


def _normalised_answer(answer: ToolAnswer, normalised: NormalisedAnswer) -> ToolAnswer:
    """The answer in the form that the agent receives."""
    headers = answer.headers if normalised.headers is None else normalised.headers
    return replace(answer, status=normalised.status, headers=headers, body=normalised.body)
