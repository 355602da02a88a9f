"""Where the answers of hosts come from: a tape, the host itself or what stands for it, or that while it is recorded.

An answer is passed on piece by piece, as it comes: streams stay streams.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from harness.cassette.player import Missed, Player
from harness.cassette.recording import Mark, Recording
from harness.cassette.redaction import SECRET_HEADERS, Redactor
from harness.cassette.take import Take
from harness.frozen import JsonObject
from harness.gateway.sources.source import ToolAnswer
from harness.gateway.web.call import WebCall


class Sink(Protocol):
    """Takes an answer as it comes. Neither method raises for an agent that has left."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None: ...

    async def write(self, piece: bytes) -> None: ...


@dataclass(frozen=True, kw_only=True)
class WebMiss:
    """No recording answers the call."""

    message: str
    nearest: tuple[JsonObject, ...] = field(default=())


class WebSource(Protocol):
    """Answers the requests of one trial.

    An answer whose outcome is none (`reset`, `timeout`, `oversized`) may have begun: its status is then not 0, and
    its body what had come.
    """

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | WebMiss:
        """Never raises for what the host does, only HarnessError for what the harness could not."""
        ...


class ReplayWeb:
    """Plays one trial's tape; touches no host."""

    def __init__(self, player: Player) -> None:
        self._player = player

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | WebMiss:
        played = self._player.play(call.key)
        if isinstance(played, Missed):
            return WebMiss(
                message=played.message, nearest=tuple(item.model_dump(mode="json") for item in played.nearest)
            )
        recording = played.recording
        begun = recording.mark.outcome == "answer" or bool(recording.mark.chunks)
        if begun:
            await sink.begin(recording.status, _with_length(call, recording))
            await sink.write(recording.body)
        return ToolAnswer(
            outcome=recording.mark.outcome,
            tier=played.tier,
            status=recording.status if begun else 0,
            headers=recording.headers,
            body=recording.body,
        )


class RecordingWeb:
    """Records every answer that belongs to the call; the requests that meet one state are made one after the other."""

    def __init__(self, inner: WebSource, take: Take, redactor: Redactor) -> None:
        self._inner = inner
        self._take = take
        self._redactor = redactor

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | WebMiss:
        take, key = self._take, call.key
        async with take.chain.turn(key.server):
            standing = take.standing(key)
            try:
                answer = await self._inner.answer(call, sink)
            except BaseException:
                take.fail(key)
                raise
            finally:
                take.wrote(key)
            if isinstance(answer, WebMiss):
                return answer
            outcome = take.outcome(standing, answer.outcome, answer.status)
            if outcome is not None:
                # An answer that was cut is told by its piece from one that never began.
                chunks = ((0, len(answer.body)),) if outcome != "answer" and answer.status else ()
                take.keep(standing, self._recording(call, standing.mark("http", outcome, chunks), answer))
            return answer

    def _recording(self, call: WebCall, mark: Mark, answer: ToolAnswer) -> Recording:
        clean = self._redactor
        left_out = SECRET_HEADERS | (frozenset() if call.method == "HEAD" else {"content-length"})
        kept = {name: clean.text(value) for name, value in answer.headers.items() if name not in left_out}
        return Recording(
            mark=mark,
            arguments=call.key.arguments,
            status=answer.status or 504,
            headers=kept,
            body=clean.body(answer.body),
        )


def _with_length(call: WebCall, recording: Recording) -> Mapping[str, str]:
    """The length of what is on the tape: without its secrets a body has another one than the host told."""
    headers = recording.headers
    whole = recording.mark.outcome == "answer" and recording.status not in {204, 304} and call.method != "HEAD"
    if not whole or headers.get("content-type", "").startswith("text/event-stream"):
        return headers
    return headers | {"content-length": str(len(recording.body))}
