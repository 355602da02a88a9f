"""The cassette as a source of hosts' answers, and the recording of another source.

An answer is passed on in pieces as it arrives, so that streams remain streams.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from harness.cassette import SECRET_HEADERS, Mark, Missed, Normalisation, Player, Recording, Redactor, TrialRecording
from harness.gateway.sources.recording import levelled_answer
from harness.upstream import Sink, ToolAnswer, WebCall, WebMiss, WebSource


class ReplayWeb:
    """Plays one trial's cassette; touches no host."""

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
            provenance=recording.mark.provenance,
            once_recorded=played.once_recorded,
            status=recording.status if begun else 0,
            headers=recording.headers,
            body=recording.body,
        )


@dataclass(kw_only=True)
class _Held:
    """Buffers the answer, because it may be changed before the agent receives it."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.status, self.headers = status, headers

    async def write(self, piece: bytes) -> None:
        del piece  # the answer itself has it


class RecordingWeb:
    """Records every answer that belongs to the call; the requests that meet one state are made one after the other."""

    def __init__(
        self,
        inner: WebSource,
        trial_recording: TrialRecording,
        redactor: Redactor,
        normalisation: Normalisation | None = None,
    ) -> None:
        """With `normalisation` None, the agent receives every answer unchanged."""
        self._inner = inner
        self._trial_recording = trial_recording
        self._redactor = redactor
        self._normalisation = normalisation

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | WebMiss:
        trial_recording, key = self._trial_recording, call.key
        async with trial_recording.chain.turn(key.server):
            position = trial_recording.position(key)
            normalisation = self._normalisation
            holds_back = normalisation is not None and normalisation.may_change(position)
            try:
                answer = await self._inner.answer(self._sent(call), _Held() if holds_back else sink)
            except BaseException:
                trial_recording.fail(key)
                raise
            finally:
                trial_recording.wrote(key)
            if isinstance(answer, WebMiss):
                return answer
            outcome = trial_recording.outcome(position, answer.outcome, answer.status)
            given, today, held = answer, answer, None
            if normalisation is not None and holds_back and outcome == "answer":
                redacted = self._redactor.body(answer.body)
                levelled = normalisation.given(position, answer.status, answer.body, redacted)
                given, held = levelled_answer(answer, levelled), levelled.held
                today = replace(answer, body=levelled.today)
            if holds_back:
                await _give(call, given, sink)
            if outcome is not None:
                # The chunk distinguishes an incomplete answer from one that never started.
                chunks = ((0, len(answer.body)),) if outcome != "answer" and answer.status else ()
                trial_recording.keep(
                    position, held or self._recording(call, position.mark("http", outcome, chunks), today)
                )
            return given

    def _sent(self, call: WebCall) -> WebCall:
        if self._normalisation is None:
            return call
        sent, address = self._normalisation.sent_text, call.address
        path, query = sent(address.path), "&".join(_sent_pair(pair, sent) for pair in address.query.split("&"))
        headers = {name: sent(value) if name.lower() in _NAMING else value for name, value in call.headers.items()}
        return replace(
            call,
            address=replace(address, path=path, query=query),
            headers=headers if headers != dict(call.headers) else call.headers,
            body=self._normalisation.sent_body(call.body),
        )

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


_NAMING = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"})
"""Request headers that repeat values of an earlier answer."""


def _sent_pair(pair: str, sent: Callable[[str], str]) -> str:
    name, equals, value = pair.partition("=")
    return f"{name}{equals}{sent(value)}"


async def _give(call: WebCall, answer: ToolAnswer, sink: Sink) -> None:
    """Sends the buffered answer; nothing where the host has not started to answer."""
    if answer.status:
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        if call.method != "HEAD" and answer.status not in {204, 304} and answer.outcome == "answer":
            headers["content-length"] = str(len(answer.body))
        await sink.begin(answer.status, headers)
        await sink.write(answer.body)


def _with_length(call: WebCall, recording: Recording) -> Mapping[str, str]:
    """The length of the recorded body: without its secrets a body has a different length from the host's."""
    headers = recording.headers
    whole = recording.mark.outcome == "answer" and recording.status not in {204, 304} and call.method != "HEAD"
    if not whole or headers.get("content-type", "").startswith("text/event-stream"):
        return headers
    return headers | {"content-length": str(len(recording.body))}
