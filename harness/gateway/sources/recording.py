"""Answers from another source, written down as they come."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection

from harness.cassette.journal import Journal
from harness.cassette.keys import StateChain
from harness.cassette.momentary import is_momentary
from harness.cassette.recording import Mark, Outcome, Recording
from harness.cassette.redaction import KEPT_HEADERS, SECRET_HEADERS, Redactor
from harness.gateway.sources.source import ToolAnswer, ToolMiss, ToolRequest, ToolSource


class RecordingSource:
    """Records every answer that belongs to the call.

    The calls of one server are made one after the other: the tape says which writes came before each answer, and that
    is only known where no write is under way.
    """

    def __init__(
        self,
        inner: ToolSource,
        journal: Journal,
        redactor: Redactor,
        chain: StateChain | None = None,
        headers: Callable[[str], Collection[str]] = lambda _: (),
    ) -> None:
        """`chain`: shared with whatever else the trial records; None: of its own. `headers`: tool -> the response
        headers, in lower case, that are kept beside `KEPT_HEADERS`."""
        self._inner = inner
        self._journal = journal
        self._redactor = redactor
        self._chain = StateChain() if chain is None else chain
        self._headers = headers
        self._made: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        call = request.key
        async with self._turns[call.server]:
            state, writes = self._chain.state(call.server), self._chain.writes(call.server)
            try:
                answer = await self._inner.call(request)
            finally:
                if call.effect == "write":
                    self._chain.advance(call)
            outcome = _recordable(answer)
            if outcome is not None and isinstance(answer, ToolAnswer):
                occurrence = self._made[call.key, state]
                self._made[call.key, state] += 1
                self._journal.add(
                    Recording(
                        mark=Mark(
                            server=call.server,
                            tool=call.tool,
                            effect=call.effect,
                            key=call.key,
                            state=state,
                            writes=writes,
                            occurrence=occurrence,
                            outcome=outcome,
                        ),
                        arguments=call.arguments,
                        status=answer.status or 504,
                        headers=self._kept(call.tool, answer),
                        body=self._redactor.body(answer.body),
                    )
                )
            return answer

    def _kept(self, tool: str, answer: ToolAnswer) -> dict[str, str]:
        names = {*KEPT_HEADERS, *self._headers(tool)} - SECRET_HEADERS
        return {name: self._redactor.text(value) for name, value in answer.headers.items() if name in names}


def _recordable(answer: ToolAnswer | ToolMiss) -> Outcome | None:
    if isinstance(answer, ToolMiss):
        return None
    match answer.outcome:
        case "answer":
            return None if is_momentary(answer.status) else "answer"
        case "timeout" | "reset":
            return answer.outcome
        case "unreachable" | "oversized" | "garbled":
            return None
