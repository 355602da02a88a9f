"""What is built in keeps the promises of its seam, and the checks of each seam notice what breaks one."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from harness.api import (
    ForeignStep,
    Found,
    FoundRun,
    Frozen,
    Importer,
    JsonObject,
    Source,
    SourceContext,
    ToolResult,
    check_tool_source,
)
from harness.runs.foreign_runs import IMPORTERS
from tests.plugins.importer_conformance import check_importer

FIXTURES = Path(__file__).parents[1] / "traces" / "importing" / "fixtures"
FILES = {
    "adk": "adk.session.json",
    "anthropic": "anthropic.json",
    "atif": "atif.json",
    "inspect": "inspect.json",
    "langfuse": "langfuse.jsonl",
    "openai-chat": "openai_chat.jsonl",
    "otel": "openinference.json",
    "tau2": "tau2.json",
}


def broken(problems: dict[str, str | None]) -> dict[str, str]:
    return {name: problem for name, problem in problems.items() if problem is not None}


def test_every_importer_has_a_file_here() -> None:
    assert set(IMPORTERS.built_in) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_built_in_importers_keep_their_promises(name: str) -> None:
    importer = IMPORTERS.find(name)
    assert isinstance(importer, Importer)
    assert {} == broken(check_importer(importer, FIXTURES / FILES[name]))


def _lines(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        question, _, answer = line.partition("\t")
        transcript = source.transcript(f"line {number}")
        transcript.add(ForeignStep(source="user", message=question))
        transcript.add(ForeignStep(source="agent", message=answer))
        case = source.case(f"line {number}", {"id": f"line-{number}", "task": question or "?"})
        yield Found(case=case, record=f"line {number}", run=FoundRun(steps=transcript.steps()))


def _raw(source: Source) -> Iterator[Found]:
    """Leaves credentials in, and raises what it should not for a file that is not text."""
    for number, line in enumerate(source.path.read_text(encoding="utf-8").splitlines(), 1):
        question, answer = line.split("\t")
        steps = (ForeignStep(source="user", message=question), ForeignStep(source="agent", message=answer))
        transcript = source.transcript(f"line {number}")
        for step in steps:
            transcript.add(step)
        case = source.case(f"line {number}", {"id": f"line-{time.time_ns()}", "task": question})
        yield Found(case=case, record=f"line {number}", run=FoundRun(steps=transcript.steps()))


def test_the_checks_of_importers_notice_what_breaks_a_promise(tmp_path: Path) -> None:
    file = tmp_path / "talk.tsv"
    file.write_text("What is the capital of France?\tIt is Paris.\n")
    assert {} == broken(check_importer(Importer(patterns=("*.tsv",), read=_lines), file))
    problems = broken(check_importer(Importer(patterns=("*.csv",), read=_raw), file))
    assert {"damaged_files_are_refused_or_read", "it_is_read_the_same_again", "the_file_is_found_in_a_folder"} <= set(
        problems
    )


_COUNTS: JsonObject = {"name": "count", "description": "Counts.", "inputSchema": {"type": "object"}}


class Counter(Frozen):
    """Counts its calls."""

    own_state: ClassVar[bool] = True

    def open(self, context: SourceContext) -> "OpenCounter":
        return OpenCounter()


@dataclass
class OpenCounter:
    calls: int = 0

    async def tools(self) -> list[JsonObject]:
        return [_COUNTS]

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        self.calls += 1
        return ToolResult(value=self.calls)

    async def close(self) -> None:
        pass


_SHARED = OpenCounter()


class Shared(Counter):
    def open(self, context: SourceContext) -> OpenCounter:
        return _SHARED


class Blocking(OpenCounter):
    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        time.sleep(0.4)
        return ToolResult(value={1: float("nan")})

    async def tools(self) -> list[JsonObject]:
        return [_COUNTS, {**_COUNTS, "inputSchema": {"type": "object", "properties": 3}}]


class Blocked(Counter):
    def open(self, context: SourceContext) -> OpenCounter:
        return Blocking()


def test_the_checks_of_tool_sources_notice_what_breaks_a_promise(tmp_path: Path) -> None:
    context = SourceContext(server="s", folder=tmp_path, secrets={})
    calls: list[tuple[str, JsonObject]] = [("count", {})]
    assert {} == broken(check_tool_source(Counter(), context, calls))
    assert {"its_own_state_begins_the_same"} == set(broken(check_tool_source(Shared(), context, calls)))
    assert {
        "tools_are_described",
        "calls_are_answered_by_results",
        "calls_do_not_block_the_event_loop",
    } <= set(broken(check_tool_source(Blocked(), context, calls)))
    assert {"calls_are_answered_by_results"} <= set(broken(check_tool_source(Counter(), context, [("other", {})])))


def test_a_tool_source_may_wait_without_blocking(tmp_path: Path) -> None:
    class Waiting(OpenCounter):
        async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
            await asyncio.to_thread(time.sleep, 0.4)
            return await super().call(tool, arguments)

    class Patient(Counter):
        def open(self, context: SourceContext) -> OpenCounter:
            return Waiting()

    context = replace(SourceContext(server="s", folder=tmp_path, secrets={}), server="t")
    assert {} == broken(check_tool_source(Patient(), context, [("count", {})]))
