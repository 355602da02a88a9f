"""The interface of tool sources: what brings tools of its own kind, from an installed package or a suite's own file.

The built-in kinds (`openapi`, `mcp`, `python`, `sandbox`, `browser`) are groups of `tools:` with fields of their own.
Every other kind is a class that the group `{tool_source: NAME, with: {...}}` names, found in the registry below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from pydantic import BaseModel, JsonValue

from harness.errors import UsageError
from harness.plugins import Registry
from harness.values import JsonObject

TOOL_SOURCES: Final = Registry(seam="tool_source", built_in={})
"""Seam `harness.tool_source`. A tool source of the harness itself is a module and one line here."""


@dataclass(frozen=True, kw_only=True)
class SourceContext:
    """What a tool source is opened with."""

    server: str
    """The name of the server that its tools belong to, as the suite declares it."""
    folder: Path
    """The suite's folder, which relative paths of the parameters are relative to."""
    secrets: Mapping[str, str]
    """The suite's `secrets` that are set in the environment: name -> value. Their values are replaced in all that is
    stored, and in what the agent receives.
    """


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a tool returned. With `is_error`, the tool reports an error, and `value` describes it to the agent."""

    value: JsonValue
    is_error: bool = False


class OpenToolSource(Protocol):
    """A tool source that is open: for one trial, or for one listing of its tools.

    All methods run on an event loop of its trial: code that blocks belongs into `asyncio.to_thread`.
    """

    async def tools(self) -> Sequence[JsonObject]:
        """Describes each tool as MCP does: `name`, `description`, `inputSchema` (a JSON Schema of type object), and
        `annotations: {readOnlyHint: true}` for one that only reads; a tool without it counts as one that writes.
        """
        ...

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        """Makes one call; `tool` is a name that `tools` gave, and the arguments fit its schema.

        Raises ConnectionRefusedError if the tool cannot have received the call, ConnectionError if the connection
        was lost after that, TimeoutError if the tool took too long. Anything else that it raises is a defect of the
        tool source, and ends the trial as `harness_failed`.
        """
        ...

    async def close(self) -> None:
        """Ends what was opened. It is called once, also if a call has failed."""
        ...


class ToolSource(Protocol):
    """A tool source as a suite declares it: a `Frozen` class whose fields are the parameters under `with:`.

    A class attribute `own_state = True` states that what it opens begins each trial in the same state, and shares it
    with no other trial; without it, its tools do not work in the tool mode `sealed`.
    """

    def open(self, context: SourceContext) -> OpenToolSource:
        """Opens the source, without I/O: connections are made by the first call."""
        ...


def tool_source_class(name: str, folder: Path) -> type[BaseModel]:
    """The class that `name` stands for: an entry point, `module:Name`, or `file.py:Name` in the suite's folder.

    Raises UsageError that says what it lacks.
    """
    found = TOOL_SOURCES.find(name, folder)
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        raise UsageError(
            f"tool source {name!r}: expected a class derived from Frozen, found {getattr(found, '__name__', found)!r}",
            remedy="`class Name(Frozen)`, with Frozen from harness.api; its fields are the parameters under `with:`",
        )
    if not callable(getattr(found, "open", None)):
        raise UsageError(
            f"tool source {name!r}: expected a method `open(self, context)`, found none in {found.__name__}",
            remedy="see docs/how-to/extend/tool-source.md",
        )
    return found


def declared_tool_source(name: str, parameters: JsonObject, folder: Path) -> ToolSource:
    """The tool source with its parameters. Raises UsageError, and pydantic's ValidationError for the parameters."""
    return cast(ToolSource, tool_source_class(name, folder).model_validate(parameters))


def has_own_state(name: str, folder: Path) -> bool:
    """Whether each trial opens it in the same state, which it shares with no other; see ToolSource."""
    return getattr(tool_source_class(name, folder), "own_state", False) is True
