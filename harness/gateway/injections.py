"""What a case places over its tools' answers: fixture packs and injected faults. No cassette is modified."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.errors import UsageError
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.suite.cases import Case, FaultSpec
from harness.suite.fixtures import Fixture, FixturePack
from harness.suite.suites import Suite
from harness.suite.tools import values_at, without
from harness.values import JsonObject, NotJson, canonical_json, parse_json

# Faults injected between the agent and its tools: some prevent the call, the others change its answer.
#
# Whether a fault applies depends only on the number of the call, so that every attempt at a case gets the same faults.

_ANY = "*"
_RETRY_AFTER_S = 1


@dataclass(kw_only=True)
class _Armed:
    """A fault, and how often it has been applied."""

    spec: FaultSpec
    fired: int = 0


class FaultySource:
    """Applies faults to the calls of one trial; if several apply to one call, the first declared one is used."""

    def __init__(self, inner: TrialTools, faults: Sequence[FaultSpec]) -> None:
        self._inner = inner
        self._armed = [_Armed(spec=spec) for spec in faults]
        self._calls: Counter[str] = Counter()

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        if request.probe:
            return await self._inner.call(request)
        self._calls.update((request.tool.name, _ANY))
        for armed in self._armed:
            counted = self._calls[armed.spec.tool]
            if armed.spec.tool in {request.tool.name, _ANY} and armed.spec.call == counted:
                return await self._struck(armed, request)
        return await self._inner.call(request)

    def unfired(self) -> tuple[FaultSpec, ...]:
        """The faults that no call has triggered."""
        return tuple(armed.spec for armed in self._armed if not armed.fired)

    async def _struck(self, armed: _Armed, request: ToolRequest) -> ToolAnswer | ToolMiss:
        spec, limit_s = armed.spec, request.tool.timeout_s
        if spec.kind == "latency":
            await asyncio.sleep(min(spec.seconds, limit_s))
            if spec.seconds >= limit_s:
                armed.fired += 1
                return ToolAnswer(outcome="timeout", tier="fault", fault="latency")
        match spec.kind:
            case "timeout":
                await asyncio.sleep(spec.seconds)
                answer: ToolAnswer | ToolMiss = ToolAnswer(outcome="timeout", tier="fault")
            case "reset":
                answer = ToolAnswer(outcome="reset", tier="fault")
            case "http_status":
                answer = _error_answer(spec)
            case _:
                answer = await self._inner.call(request)
                answer = answer if isinstance(answer, ToolMiss) else _spoilt(spec, answer)
        if isinstance(answer, ToolMiss) or (answer.fault is None and answer.tier != "fault"):
            return answer
        armed.fired += 1
        return replace(answer, fault=spec.kind)


def _error_answer(spec: FaultSpec) -> ToolAnswer:
    status = spec.status or 503
    headers = {"retry-after": str(_RETRY_AFTER_S)} if status == 429 else {}
    body: JsonObject = {"error": "too many requests" if status == 429 else "the service failed"}
    return ToolAnswer(outcome="answer", tier="fault", status=status, headers=headers, body=json.dumps(body).encode())


def _spoilt(spec: FaultSpec, answer: ToolAnswer) -> ToolAnswer:
    """The answer as changed by the fault; the same answer with `fault` None if the fault could not change it."""
    match spec.kind:
        case "latency":
            return replace(answer, fault=spec.kind)
        case _ if answer.outcome != "answer" or answer.status // 100 != 2:
            return answer
        case "empty":
            return replace(answer, fault=spec.kind, body=b"")
        case "malformed":
            return replace(answer, fault=spec.kind, body=answer.body[: len(answer.body) * 2 // 3] + b"\x00")
        case _:
            return _without_field(spec, answer)


def _without_field(spec: FaultSpec, answer: ToolAnswer) -> ToolAnswer:
    pointer = spec.at or ""
    try:
        value = parse_json(answer.body)
    except NotJson:
        return answer
    if not values_at(value, pointer):
        return answer
    return replace(answer, fault=spec.kind, body=json.dumps(without(value, pointer), ensure_ascii=False).encode())


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
        found = next(
            (item for item in self._fixtures if _fixture_matches(item, request.tool.name, request.arguments)), None
        )
        if found is None:
            return await self._inner.call(request)
        return ToolAnswer(
            outcome="answer",
            tier="fixture",
            status=found.status,
            headers={"content-type": "application/json"},
            body=json.dumps(found.answer, ensure_ascii=False).encode(),
        )


def _fixture_matches(fixture: Fixture, tool: str, arguments: JsonObject) -> bool:
    return fixture.tool == tool and all(
        name in arguments and canonical_json(arguments[name]) == canonical_json(value)
        for name, value in fixture.when.items()
    )
