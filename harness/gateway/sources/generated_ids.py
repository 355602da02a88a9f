"""Ids and cursors that a real tool generates in every run, bound to the call that returned them.

The stored value is a placeholder that depends only on the call: a repeated recording is equal, and the agent sends the
same argument in every run. The agent itself receives the real value, because the real tool must recognise it. A client
that replays recorded data (the oracle a case's reference, a model its recorded answers) sends the placeholder instead;
the tool receives the value of this run in its place.
"""

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from uuid import UUID

from harness.case import values_at
from harness.cassette import Redactor, unfolded
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.values import JsonValue

_PREFIX = re.compile(r"[A-Za-z]{1,12}[_-]")
_SHORTEST = 4
_SHORTEST_IN_TEXTS = 8
"""The shortest value that is replaced within a longer text; a shorter one is replaced only as a whole text."""
_UUID = 36


class GeneratedIdSource:
    """Registers with the redactor the values of an answer that the call generated; changes no answer.

    In arguments, the placeholder of such a value is replaced by the value itself.
    """

    def __init__(self, inner: TrialTools, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor
        self._made: Counter[str] = Counter()
        self._values: dict[str, str] = {}
        """Maps a placeholder to the value of this run."""

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        answer = await self._inner.call(self._sent(request))
        if request.tool.generated_ids and isinstance(answer, ToolAnswer) and answer.outcome == "answer":
            self._made[request.key.key] += 1
            self._bind(request, answer.body, self._made[request.key.key])
        return answer

    def _sent(self, request: ToolRequest) -> ToolRequest:
        if not self._values:
            return request
        arguments = {name: self._real(value) for name, value in request.arguments.items()}
        return request if arguments == request.arguments else replace(request, arguments=arguments)

    def _real(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                for stand_in, real in self._values.items():
                    value = value.replace(stand_in, real)  # 12 digits of a hash do not occur in a text by chance
                return value
            case list():
                return [self._real(item) for item in value]
            case dict():
                return {name: self._real(item) for name, item in value.items()}
            case _:
                return value

    def _bind(self, request: ToolRequest, body: bytes, number: int) -> None:
        try:
            content = json.loads(body)
            inside = unfolded(content)
        except (ValueError, RecursionError):
            return
        for pointer in request.tool.generated_ids:
            plain = values_at(content, pointer)
            shortest = _SHORTEST if plain else _SHORTEST_IN_TEXTS
            for index, value in enumerate(plain or values_at(inside, pointer)):
                if isinstance(value, str) and len(value) >= shortest:
                    place = f"{request.key.key}\0{number}\0{pointer}\0{index}"
                    stand_in = _stand_in(value, hashlib.sha256(place.encode()).hexdigest())
                    self._values[stand_in] = value
                    self._redactor.bind(value, stand_in)


def _stand_in(value: str, digest: str) -> str:
    """A placeholder in the value's own format, so that it passes the same checks: a UUID, or a prefix such as `order_`
    and digits.
    """
    if len(value) == _UUID:
        try:
            UUID(value)
        except ValueError:
            pass
        else:
            return str(UUID(hex=digest[:32]))
    prefix = _PREFIX.match(value)
    return f"{prefix[0] if prefix else 'id-'}{digest[:12]}"
