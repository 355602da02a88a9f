"""Answers from another source, written down as they come."""

from collections.abc import Callable, Collection

from harness.cassette.recording import Recording
from harness.cassette.redaction import KEPT_HEADERS, SECRET_HEADERS, Redactor
from harness.cassette.take import Take
from harness.gateway.sources.source import ToolAnswer, ToolMiss, ToolRequest, ToolSource


class RecordingSource:
    """Records every answer that belongs to the call.

    The calls that meet one state are made one after the other: the tape says which writes came before each answer, and
    that is only known where no write is under way.
    """

    def __init__(
        self,
        inner: ToolSource,
        take: Take,
        redactor: Redactor,
        headers: Callable[[str], Collection[str]] = lambda _: (),
    ) -> None:
        """`headers`: tool -> the response headers, in lower case, that are kept beside `KEPT_HEADERS`."""
        self._inner = inner
        self._take = take
        self._redactor = redactor
        self._headers = headers

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        take, call = self._take, request.key
        async with take.chain.turn(call.server):
            standing = take.standing(call)
            try:
                answer = await self._inner.call(request)
            except BaseException:
                take.fail(call)
                raise
            finally:
                take.wrote(call)
            if isinstance(answer, ToolMiss):
                return answer
            outcome = take.outcome(standing, answer.outcome, answer.status)
            if outcome is not None:
                recording = Recording(
                    mark=standing.mark("tool", outcome),
                    arguments=call.arguments,
                    status=answer.status or 504,
                    headers=self._kept(call.tool, answer),
                    body=self._redactor.body(answer.body),
                )
                take.keep(standing, recording)
            return answer

    def _kept(self, tool: str, answer: ToolAnswer) -> dict[str, str]:
        names = {*KEPT_HEADERS, *self._headers(tool)} - SECRET_HEADERS
        return {name: self._redactor.text(value) for name, value in answer.headers.items() if name in names}
