"""Ids and cursors that a real tool makes anew in every run, bound to the call that gave them.

What is stored is a stand-in that depends only on the call: a recording made again is the same, and what the agent sends
back is the same argument in every run. The agent itself is given the real value, since the real tool must know it.
"""

import hashlib
import json
import re
from collections import Counter
from uuid import UUID

from harness.case import values_at
from harness.cassette import Redactor
from harness.gateway.sources.source import ToolAnswer, ToolMiss, ToolRequest, ToolSource

_PREFIX = re.compile(r"[A-Za-z]{1,12}[_-]")
_SHORTEST = 4
_UUID = 36


class GeneratedIdSource:
    """Tells the redactor which values of an answer were minted by the call; changes no answer."""

    def __init__(self, inner: ToolSource, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor
        self._made: Counter[str] = Counter()

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        answer = await self._inner.call(request)
        if request.tool.mints and isinstance(answer, ToolAnswer) and answer.outcome == "answer":
            self._made[request.key.key] += 1
            self._bind(request, answer.body, self._made[request.key.key])
        return answer

    def _bind(self, request: ToolRequest, body: bytes, number: int) -> None:
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return
        for pointer in request.tool.mints:
            for index, value in enumerate(values_at(content, pointer)):
                if isinstance(value, str) and len(value) >= _SHORTEST:
                    place = f"{request.key.key}\0{number}\0{pointer}\0{index}"
                    self._redactor.bind(value, _stand_in(value, hashlib.sha256(place.encode()).hexdigest()))


def _stand_in(value: str, digest: str) -> str:
    """Of the value's kind, so that it passes where the value would: a UUID, or a prefix such as `order_` and digits."""
    if len(value) == _UUID:
        try:
            UUID(value)
        except ValueError:
            pass
        else:
            return str(UUID(hex=digest[:32]))
    prefix = _PREFIX.match(value)
    return f"{prefix[0] if prefix else 'id-'}{digest[:12]}"
