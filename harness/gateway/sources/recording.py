"""Answers from another source, written down as they come."""

from collections.abc import Callable, Collection
from dataclasses import replace

from harness.cassette import (
    KEPT_HEADERS,
    SECRET_HEADERS,
    Mark,
    Normalisation,
    NormalisedAnswer,
    Recording,
    Redactor,
    TrialRecording,
)
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest, ToolSource


class RecordingSource:
    """Records every answer that belongs to the call.

    Calls in the same state are made one after the other: the cassette stores which writes preceded each answer, which
    is only known where no write is in progress.
    """

    def __init__(
        self,
        inner: ToolSource,
        trial_recording: TrialRecording,
        redactor: Redactor,
        normalisation: Normalisation | None = None,
        headers: Callable[[str], Collection[str]] = lambda _: (),
    ) -> None:
        """With `normalisation` None, the agent receives every answer unchanged. `headers` maps a tool to the response
        headers, in lower case, that are stored besides `KEPT_HEADERS`.
        """
        self._inner = inner
        self._trial_recording = trial_recording
        self._redactor = redactor
        self._normalisation = normalisation
        self._headers = headers

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        trial_recording, call = self._trial_recording, request.key
        async with trial_recording.chain.turn(call.server):
            position = trial_recording.position(call)
            try:
                answer = await self._inner.call(self._sent(request))
            except BaseException:
                trial_recording.fail(call)
                raise
            finally:
                trial_recording.wrote(call)
            if isinstance(answer, ToolMiss):
                return answer
            outcome = trial_recording.outcome(position, answer.outcome, answer.status)
            if outcome is None:
                return answer
            mark = position.mark("tool", outcome)
            if self._normalisation is None or outcome != "answer":
                trial_recording.keep(position, self._recording(mark, request, answer))
                return answer
            levelled = self._normalisation.given(position, answer.status, answer.body, self._redactor.body(answer.body))
            today = replace(answer, body=levelled.today)
            trial_recording.keep(position, levelled.held or self._recording(mark, request, today))
            return levelled_answer(answer, levelled)

    def _sent(self, request: ToolRequest) -> ToolRequest:
        if self._normalisation is None:
            return request
        arguments = self._normalisation.sent(request.arguments)
        assert isinstance(arguments, dict)  # values are replaced, shapes are not
        return replace(request, arguments=arguments)

    def _recording(self, mark: Mark, request: ToolRequest, answer: ToolAnswer) -> Recording:
        return Recording(
            mark=mark,
            arguments=request.key.arguments,
            status=answer.status or 504,
            headers=self._kept(request.key.tool, answer),
            body=self._redactor.body(answer.body),
        )

    def _kept(self, tool: str, answer: ToolAnswer) -> dict[str, str]:
        names = {*KEPT_HEADERS, *self._headers(tool)} - SECRET_HEADERS
        return {name: self._redactor.text(value) for name, value in answer.headers.items() if name in names}


def levelled_answer(answer: ToolAnswer, levelled: NormalisedAnswer) -> ToolAnswer:
    """The answer in the form that the agent receives."""
    headers = answer.headers if levelled.headers is None else levelled.headers
    return replace(answer, status=levelled.status, headers=headers, body=levelled.body)
