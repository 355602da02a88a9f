"""Builds a suite from the records of an import."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import JsonValue

from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.digests import suite_digest
from harness.suite.suites import Suite, ToolServer
from harness.suite.tool_words import reads_by_its_words
from harness.suite.tools import IMPORTED_SERVER, HttpRoute, ToolSpec
from harness.traces.formats.found import READS, Found, FoundTool, ImportNotes, ImportOptions, is_tool_name
from harness.values import JsonObject, digest_of

INFERRED = "(seen in use; its definition is not told)"
_ANY_ARGUMENTS: JsonObject = {"type": "object"}


@dataclass(kw_only=True)
class SuiteBuilder:
    """Collects the records of an import one by one; stores cases and tools, never a trajectory."""

    name: str
    folder: Path
    options: ImportOptions
    book: ImportNotes
    given: tuple[FoundTool, ...] = ()
    """Tools that the options declare: every case is offered them."""
    _cases: dict[str, Case] = field(default_factory=dict)
    _offered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _tools: dict[str, FoundTool] = field(default_factory=dict)
    _used: dict[str, None] = field(default_factory=dict)
    _calls: dict[tuple[str, str, frozenset[str]], None] = field(default_factory=dict)
    """(case, tool, names of arguments) of what was called in the runs."""
    _agents: dict[str, None] = field(default_factory=dict)

    def add(self, path: Path, found: Found) -> str:
        """Takes in a record's case, tools and agent; the id under which the case is in the suite."""
        case = self._unique_case(path, found)
        self._cases.setdefault(case.id, case)
        if found.tools is not None:
            self._offered.setdefault(case.id, tuple(tool.name for tool in found.tools))
            for tool in found.tools:
                self._declare(path, found.record, tool)
        self._used |= dict.fromkeys(call.tool for call in found.case.reference or ())
        if found.run is not None:
            self._agents[found.run.agent] = None
            self._used |= dict.fromkeys(_answered_tools(found))
            calls = (call for step in found.run.steps for call in step.calls)
            self._calls |= dict.fromkeys((case.id, call.name, frozenset(call.arguments or ())) for call in calls)
        return case.id

    def build(self, path: Path) -> Suite | None:
        """The suite; None if no record contained a case."""
        if not self._cases:
            return None
        for tool in self.given:
            self._declare(path, "tools", tool)
        own, calling = self._own_tools(), {case for case, _, _ in self._calls}
        self._widen(own)
        specs = tuple(self._specs(path, own))
        names = tuple(spec.name for spec in specs)
        agents = {agent or "agent": _placeholder() for agent in self._agents} or {"agent": _placeholder()}
        suite = Suite(
            name=self.name,
            description=f"Imported from {path.name}",
            folder=self.folder,
            agents=agents,
            servers={IMPORTED_SERVER: ToolServer(base_url="http://imported.invalid")},
            tools=specs,
            cases=tuple(self._offering(case, names, own, calling) for case in self._cases.values()),
            digest="",
        )
        return suite.model_copy(update={"digest": suite_digest(suite)})

    def _unique_case(self, path: Path, found: Found) -> Case:
        """The record's case; under an id of its own if another of its id asks or offers something else.

        Tools belong to the record that declares them: with others it would be judged by what it did not have.
        """
        case = found.case
        known = self._cases.get(case.id)
        if known is not None and _case_without_name(known) != _case_without_name(case):
            self.book.add(
                path, found.record, "id", "two cases of one id ask different things; the later has digits added"
            )
            case = case.model_copy(update={"id": _with_digits(case.id, _case_without_name(case))})
        names = None if found.tools is None else sorted({tool.name for tool in found.tools})
        offered = self._offered.get(case.id)
        if names is not None and offered is not None and names != sorted(set(offered)):
            problem = "two records of one case offer different tools; the later's case has digits added"
            self.book.add(path, found.record, "tools", problem)
            case = case.model_copy(update={"id": _with_digits(case.id, {"tools": list(names)})})
        return case

    def _declare(self, path: Path, record: str, tool: FoundTool) -> None:
        known = self._tools.get(tool.name)
        if known is None or known == tool:
            self._tools[tool.name] = tool
            return
        self._tools[tool.name] = _widened(known, tool)
        problem = f"tool {tool.name!r} is declared differently than before; what either declaration takes is taken"
        self.book.add(path, record, None, problem)

    def _own_tools(self) -> dict[str, tuple[str, ...]]:
        """Case -> the tools that were used in its runs, of cases that have tools which no record declares.

        If no record of a case declares tools, but records of others do, it may be offered theirs. It is not if
        one that nobody declares answered it: then it has a world of its own.
        """
        used: dict[str, list[str]] = {}
        for case, name, _ in self._calls if self._tools and not self.given else ():
            if case not in self._offered and name in self._used:
                used.setdefault(case, []).append(name)
        return {case: tuple(names) for case, names in used.items() if not self._tools.keys() >= set(names)}

    def _widen(self, own: Mapping[str, tuple[str, ...]]) -> None:
        """A tool of a case's own world that other records declare takes what it was called with there, too."""
        for case, name, arguments in self._calls:
            known = self._tools.get(name)
            if case in own and known is not None:
                properties: JsonObject = {argument: {} for argument in sorted(arguments)}
                told = replace(known, parameters={"type": "object", "properties": properties, "required": []})
                self._tools[name] = _widened(known, told)

    def _specs(self, path: Path, own: Mapping[str, tuple[str, ...]]) -> Iterable[ToolSpec]:
        undeclared = [name for name in self._used if name not in self._tools]
        if self._tools:  # a call to a tool that nobody declared is the agent's invention, a reference's call is not
            wanted = {call.tool for case in self._cases.values() for call in case.reference or ()}.union(*own.values())
            undeclared = [name for name in undeclared if name in wanted]
        if undeclared:
            self.book.add(
                path, None, "tools", "tools are not declared; those seen in use are taken, with any arguments",
                remedy="name a file with their definitions (option `tools`)", count=len(undeclared),
            )  # fmt: skip
        for tool in [*self._tools.values(), *(FoundTool(name=name, description=INFERRED) for name in undeclared)]:
            if is_tool_name(tool.name):
                yield self._spec(path, tool)
            else:
                self.book.add(path, tool.name, "tools", "a tool's name cannot stand in a suite; it is left out")

    def _spec(self, path: Path, tool: FoundTool) -> ToolSpec:
        parameters = tool.parameters
        if parameters is not None and parameters.get("type") != "object":
            self.book.add(path, tool.name, "parameters", "a tool's schema is of no object; any arguments are taken")
            parameters = None
        by_words = self.options.reads == READS and reads_by_its_words(tool.name, tool.description)
        guessed = by_words or any(fnmatchcase(tool.name, pattern) for pattern in self.options.reads)
        return ToolSpec(
            name=tool.name,
            description=tool.description,
            parameters=_ANY_ARGUMENTS if parameters is None else parameters,
            effect="read" if (guessed if tool.reads is None else tool.reads) else "write",
            server=IMPORTED_SERVER,
            http=HttpRoute(method="POST", path=f"/{tool.name}", body="arguments"),
        )

    def _offering(
        self, case: Case, names: tuple[str, ...], own: Mapping[str, tuple[str, ...]], calling: Collection[str]
    ) -> Case:
        offered = self._offered.get(case.id, own.get(case.id))
        if offered is None:
            known = bool(self.given) or case.id in calling
            # what records of other cases declare or use is not offered if nothing mentions a tool at all
            if not known and names:
                return case.model_copy(update={"tools": ()})
            offered = names if not own else tuple(self._tools)
        kept = tuple(name for name in names if name in offered or name in {tool.name for tool in self.given})
        return case if kept == names else case.model_copy(update={"tools": kept})


def _with_digits(id: str, document: JsonObject) -> str:
    return f"{id[:90]}-{digest_of(document)[:8]}"


def _case_without_name(case: Case) -> JsonObject:
    """A case without the name of the file that it was read from."""
    return case.model_dump(mode="json", exclude={"origin"})


def _widened(first: FoundTool, second: FoundTool) -> FoundTool:
    """A declaration that takes what either of two takes: tools belong to the record that declares them."""
    schemas = (first.parameters, second.parameters)
    properties = [schema.get("properties") for schema in schemas if schema is not None]
    if len(properties) < 2 or not all(isinstance(one, dict) for one in properties):
        return replace(first, parameters=None, reads=first.reads if first.reads == second.reads else None)
    merged: JsonObject = {}
    for one in properties:
        for name, schema in one.items() if isinstance(one, dict) else ():
            merged[name] = schema if merged.get(name, schema) == schema else {}
    required = [schema.get("required") for schema in schemas if schema is not None]
    lists = [one if isinstance(one, list) else [] for one in required]
    both: list[JsonValue] = [name for name in lists[0] if name in lists[1]]
    parameters: JsonObject = {**(first.parameters or {}), "properties": merged, "required": both}
    return replace(first, parameters=parameters, reads=first.reads if first.reads == second.reads else None)


def _answered_tools(found: Found) -> Iterable[str]:
    """The agent's tools that some call reached: one that was answered "unknown tool" does not exist."""
    assert found.run is not None
    for step in found.run.steps:
        if step.source != "agent":
            continue
        unknown = {seen.call_id for seen in step.observations if seen.error and seen.error.type == "unknown_tool"}
        yield from (call.name for call in step.calls if call.id not in unknown)


def _placeholder() -> AgentVersion:
    return AgentVersion(command=("false",), files=".")
