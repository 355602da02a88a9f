"""The conformance checks of the tool source interface, which run against any tool source.

To check a tool source of your own, call `check_tool_source(source, context, calls)` with calls that it answers, and
read the results that are not None.
"""

import asyncio
import copy
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from harness.plugins import described
from harness.suite.tool_sources import OpenToolSource, SourceContext, ToolResult, ToolSource
from harness.values import JsonObject, canonical_json

Call = tuple[str, JsonObject]
_LONGEST_BLOCK_S = 0.25
"""The time for which a call may keep the event loop, which serves every trial of a run."""
_BEAT_S = 0.01
_WITHIN_S = 30.0


class _NotConforming(Exception):
    """The tool source does not conform; the message describes its behaviour."""


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """What is checked."""

    source: ToolSource
    context: SourceContext
    calls: Sequence[Call]

    def open(self) -> OpenToolSource:
        return self.source.open(self.context)


async def methods_are_asynchronous(subject: _Subject) -> None:
    opened = subject.open()
    for name in ("tools", "call", "close"):
        _expect(f"`{name}` is an async method", inspect.iscoroutinefunction(getattr(opened, name, None)), True)
    await opened.close()


async def tools_are_described(subject: _Subject) -> None:
    tools = await _listed(subject)
    _expect("at least one tool", bool(tools), True)
    names = [str(tool.get("name")) for tool in tools]
    _expect("tools whose name is given twice", sorted({name for name in names if names.count(name) > 1}), [])
    for tool in tools:
        name = tool.get("name")
        _expect("a tool's name is a text", isinstance(name, str) and bool(name), True)
        _expect(f"{name}: its description is a text", isinstance(tool.get("description", ""), str), True)
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise _NotConforming(f"{name}: expected an inputSchema with type: object, found {schema!r}")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise _NotConforming(f"{name}: its inputSchema is not a JSON Schema: {error.message}") from None


async def the_listing_is_the_same_again(subject: _Subject) -> None:
    _expect("the second listing", _canonical(await _listed(subject)), _canonical(await _listed(subject)))


async def calls_are_answered_by_results(subject: _Subject) -> None:
    _expect("at least one call to check with", bool(subject.calls), True)
    listed = {str(tool.get("name")) for tool in await _listed(subject)}
    opened = subject.open()
    try:
        for tool, arguments in subject.calls:
            _expect(f"{tool!r} is one of its tools", tool in listed, True)
            given = copy.deepcopy(arguments)
            result = await opened.call(tool, given)
            _expect(f"{tool!r} answers with", type(result), ToolResult)
            _expect(f"{tool!r}: its arguments afterwards", given, arguments)
            json.dumps(result.value, allow_nan=False)
    finally:
        await opened.close()


async def calls_do_not_block_the_event_loop(subject: _Subject) -> None:
    opened = subject.open()
    try:
        for tool, arguments in subject.calls:
            longest = await _longest_block(opened.call(tool, copy.deepcopy(arguments)))
            if longest > _LONGEST_BLOCK_S:
                raise _NotConforming(
                    f"{tool!r} kept the event loop for {longest:.2f} s, expected at most {_LONGEST_BLOCK_S} s: put what"
                    " blocks into `await asyncio.to_thread(...)`"
                )
    finally:
        await opened.close()


async def one_that_is_closed_leaves_the_others_open(subject: _Subject) -> None:
    first, second = subject.open(), subject.open()
    tool, arguments = subject.calls[0]
    try:
        await first.call(tool, copy.deepcopy(arguments))
        await first.close()
        result = await second.call(tool, copy.deepcopy(arguments))
        _expect("the other answers with", type(result), ToolResult)
    finally:
        await second.close()


async def a_cancelled_call_can_be_closed(subject: _Subject) -> None:
    opened = subject.open()
    tool, arguments = subject.calls[0]
    task = asyncio.ensure_future(opened.call(tool, copy.deepcopy(arguments)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await opened.close()


async def its_own_state_begins_the_same(subject: _Subject) -> None:
    if getattr(type(subject.source), "own_state", False) is not True:
        return
    answers = []
    for _ in range(2):
        opened = subject.open()
        try:
            answers.append([await opened.call(tool, copy.deepcopy(arguments)) for tool, arguments in subject.calls])
        finally:
            await opened.close()
    _expect("own_state: the answers to the same calls, opened again", answers[1], answers[0])


CHECKS: tuple[Callable[[_Subject], Awaitable[None]], ...] = (
    methods_are_asynchronous,
    tools_are_described,
    the_listing_is_the_same_again,
    calls_are_answered_by_results,
    calls_do_not_block_the_event_loop,
    one_that_is_closed_leaves_the_others_open,
    a_cancelled_call_can_be_closed,
    its_own_state_begins_the_same,
)


def check_tool_source(source: ToolSource, context: SourceContext, calls: Sequence[Call]) -> dict[str, str | None]:
    """Runs every check; name of the check -> what is wrong, or None.

    `calls` are pairs of a tool's name and arguments that its schema allows, at least one; they are really made, several
    times over.
    """
    subject = _Subject(source=source, context=context, calls=calls)
    return {check.__name__: asyncio.run(_problem(check, subject)) for check in CHECKS}


async def _problem(check: Callable[[_Subject], Awaitable[None]], subject: _Subject) -> str | None:
    try:
        async with asyncio.timeout(_WITHIN_S):
            await check(subject)
    except _NotConforming as problem:
        return str(problem)
    except Exception as error:  # noqa: BLE001  # a plug-in's own code
        return described(error)
    return None


async def _listed(subject: _Subject) -> list[JsonObject]:
    opened = subject.open()
    try:
        return list(await opened.tools())
    finally:
        await opened.close()


async def _longest_block(call: Awaitable[ToolResult]) -> float:
    """The longest time in seconds between two beats of the loop, while the call is made."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(_BEAT_S)
            longest = max(longest, time.monotonic() - before - _BEAT_S)

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    try:
        await call
        await asyncio.sleep(_BEAT_S)
    finally:
        beating.cancel()
    return longest


def _canonical(tools: Sequence[JsonObject]) -> list[str]:
    return [canonical_json(tool) for tool in tools]


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _NotConforming(f"{what}: expected {wanted!r}, found {found!r}")
