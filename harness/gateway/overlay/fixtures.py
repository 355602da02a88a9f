"""Answers from fixture packs, which take precedence over all other sources."""

import json
from collections.abc import Iterable

from harness.case import Case, Fixture, FixturePack, Suite
from harness.errors import UsageError
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.values import JsonObject, canonical_json


def packs_of(suite: Suite, case: Case) -> list[FixturePack]:
    """The packs of a case, in its order. Raises UsageError for a pack that the suite does not have."""
    unknown = [name for name in case.fixtures if name not in suite.packs]
    if unknown:
        raise UsageError(f"case {case.id!r} names the fixture packs {unknown}, which the suite does not have")
    return [suite.packs[name] for name in case.fixtures]


class FixtureSource:
    """Places packs over another source. A call that a fixture answers reaches neither service nor cassette.

    Later packs win over earlier ones; within a pack, the first matching fixture wins.
    """

    def __init__(self, inner: TrialTools, packs: Iterable[FixturePack]) -> None:
        self._inner = inner
        self._fixtures = [fixture for pack in reversed(tuple(packs)) for fixture in pack.fixtures]

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        if not self._fixtures:
            return await self._inner.call(request)
        found = next((item for item in self._fixtures if _fits(item, request.tool.name, request.arguments)), None)
        if found is None:
            return await self._inner.call(request)
        return ToolAnswer(
            outcome="answer",
            tier="fixture",
            status=found.status,
            headers={"content-type": "application/json"},
            body=json.dumps(found.answer, ensure_ascii=False).encode(),
        )


def _fits(fixture: Fixture, tool: str, arguments: JsonObject) -> bool:
    return fixture.tool == tool and all(
        name in arguments and canonical_json(arguments[name]) == canonical_json(value)
        for name, value in fixture.when.items()
    )
