"""A suite's folder read into a `Suite`: `suite.yaml`, the case files and tool files that it names."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from harness.disk import is_file, is_folder, read_plain_file
from harness.errors import InvalidDocument, UsageError
from harness.suite.cases import ApiProbe, Case, Limits, StateProbe
from harness.suite.conversations import UserSpec, persona_of
from harness.suite.digests import suite_digest
from harness.suite.documents import Document, open_document
from harness.suite.fixtures import load_packs, pack_names
from harness.suite.models import with_price_list
from harness.suite.scenarios import cases_in, refuse_recorded
from harness.suite.suite_file import SuiteFile, read_suite_file, suite_folder, suite_names
from harness.suite.suites import DESCRIPTIONS, Suite, ToolServer
from harness.suite.task_folders import TASK_FILE, refuse_task_folders, task_document
from harness.suite.tool_groups import Group
from harness.suite.tools import ToolSpec
from harness.suite.tools_section import Tools, read_groups, read_tools

# What the cases say of their users, looked up when the suite is loaded: a wrong name is found before a run.


def with_user(source: Document, index: int, case: Case, *, folder: Path, user: UserSpec) -> Case:
    """The case with its persona in full: the suite's if a case with a plan names none.

    Raises InvalidDocument if there is no such persona, or no such log.
    """
    if case.user is not None and case.user.log is not None and not is_file(folder / case.user.log):
        source.refuse(index, "user", "log", problem=f"there is no file {folder / case.user.log}")
    conversation = case.conversation
    if conversation is None:
        return case
    wanted = conversation.persona or (user.persona if conversation.plan is not None else None)
    try:
        persona = persona_of(folder, wanted)
    except InvalidDocument:  # of the persona's own file
        raise
    except UsageError as error:
        if conversation.persona is None:  # the suite's
            suite_file = folder / "suite.yaml"
            raise InvalidDocument(suite_file, error.message, field="user.persona", remedy=error.remedy) from None
        source.refuse(
            index, "conversation", "persona", problem=f"case {case.id!r}: {error.message}", remedy=error.remedy
        )
    if persona == conversation.persona:
        return case
    return case.model_copy(update={"conversation": conversation.model_copy(update={"persona": persona})})


@dataclass(frozen=True, kw_only=True)
class Probing:
    """What probes can refer to."""

    tools: Sequence[ToolSpec]
    servers: Mapping[str, ToolServer]
    environment: str | None

    def check(
        self, document: Document, at: tuple[int | str, ...], probes: Sequence[StateProbe], taken: Collection[str] = ()
    ) -> None:
        """Raises InvalidDocument; `taken` are names that are already used."""
        seen = set(taken)
        for index, probe in enumerate(probes):
            if probe.name in seen:
                document.refuse(*at, index, "name", problem=f"a probe {probe.name!r} is given twice")
            seen.add(probe.name)
            found = self._problem(probe)
            if found is not None:
                field, problem, remedy = found
                document.refuse(*at, index, *field, problem=problem, remedy=remedy)

    def _problem(self, probe: StateProbe) -> tuple[tuple[str, ...], str, str | None] | None:
        if probe.tool is not None:
            if not any(tool.name == probe.tool and tool.effect == "read" for tool in self.tools):
                return ("tool",), f"expected a tool with effect: read, found {probe.tool!r}", None
        elif probe.sql is not None:
            if probe.sql.service is not None and self.environment is None:
                return ("sql", "service"), "the suite names no environment, so it has no services", None
        elif probe.api is not None:
            return self._problem_of_api(probe.api)
        return None

    def _problem_of_api(self, api: ApiProbe) -> tuple[tuple[str, ...], str, str | None] | None:
        server = self.servers.get(api.server)
        if server is None or not server.speaks_http:
            speaking = [name for name, one in self.servers.items() if one.speaks_http]
            known = f"there are: {', '.join(speaking) or 'none'}"
            return ("api", "server"), f"{api.server!r} is none of the servers that speak plain HTTP", known
        if api.method == "POST" and server.service is None and not server.disposable:
            remedy = f"declare servers.{api.server}.disposable: true, or ask by GET"
            return ("api", "method"), f"server {api.server!r} is not disposable, and POST may write", remedy
        return None


def load_suite(project: Path, name: str) -> Suite:
    """The suite called `name`, or the one whose folder is `name`.

    Raises UsageError if there is none, InvalidDocument (file, line, field, remedy) if one of its files is wrong.
    """
    folder = suite_folder(project, name)
    document, raw = read_suite_file(folder)
    found = read_tools(document, raw.tools, raw.servers)
    _check_tools(document, raw, found)
    tools = _tools_with_described_texts(document, found.tools)
    _check_agents(document, raw)
    limits = document.shaped(Limits, raw.limits, "limits")
    called = {*(tool.name for tool in tools), *_host_tools(document, raw)}
    _check_drift(document, raw, called)
    probing = Probing(tools=tools, servers=found.servers, environment=raw.environment)
    probing.check(document, ("probes",), raw.probes)
    user = raw.user
    cases = tuple(_cases(document, raw, called, probing))
    suite = Suite(
        name=raw.name or folder.name,
        description=raw.description,
        folder=folder,
        environment=raw.environment,
        snapshot=raw.snapshot,
        agents=raw.agents,
        servers=found.servers,
        tools=tools,
        model=None if raw.model is None else with_price_list(raw.model, folder),
        user=user,
        hosts=raw.hosts,
        probes=raw.probes,
        checks=raw.checks,
        metrics=raw.metrics,
        secrets=tuple(dict.fromkeys([*raw.secrets, *(raw.model.secrets if raw.model else ()), *user.secrets])),
        drift=raw.drift,
        packs=load_packs(folder, cases, tools),
        optimise=raw.optimise,
        defaults=limits,
        cases=cases,
        gates=raw.gates,
        digest="",
    )
    return suite.model_copy(update={"digest": suite_digest(suite)})


def load_stored_suite(project: Path, name: str, source: Path) -> Suite:
    """Loads the project's suite that the file or run folder `source` names.

    Such a file may come from an untrusted source, so the name is never used as a path: the target could contain code.
    Raises UsageError, which names `source`, if the project has no suite in a folder of that name.
    """
    if name not in suite_names(project):
        known = ", ".join(suite_names(project)) or "none"
        raise UsageError(
            f"{source}: the run is of a suite {name[:100]!r}, which is none of this project's",
            remedy=f"go to the project that the run was made in, with --project; suites here: {known}",
        )
    return load_suite(project, name)


def tool_groups(project: Path, name: str) -> tuple[Path, list[Group], SuiteFile]:
    """The suite's folder, and the groups of tools that it names; no listing of theirs needs to be there yet."""
    folder = suite_folder(project, name)
    document, raw = read_suite_file(folder)
    return folder, read_groups(document, raw.tools), raw


def _check_agents(document: Document, raw: SuiteFile) -> None:
    for version, agent in raw.agents.items():
        if agent.files is not None and not is_folder(document.path.parent / agent.files):
            document.refuse("agents", version, "files", problem=f"there is no folder {agent.files!r}")


def _check_tools(document: Document, raw: SuiteFile, found: Tools) -> None:
    tools = found.tools
    names = [tool.name for tool in tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        document.refuse("tools", problem=f"tools are declared twice: {', '.join(twice)}")
    for tool in tools:
        if tool.server not in found.servers:
            document.refuse(
                "tools", problem=f"tool {tool.name!r} names the server {tool.server!r}, which is none of `servers:`"
            )
    for name, server in raw.servers.items():
        if (server.service is None) == (server.base_url is None):
            document.refuse("servers", name, problem="needs exactly one of `service` and `base_url`")
        if server.service is not None and (server.reset is not None or server.command):
            what = "command" if server.command else "reset"
            document.refuse(
                "servers",
                name,
                problem=f"`{what}` is for a live server; a service begins each trial restored",
                remedy="remove it, or give the server a `base_url` instead of a `service`",
            )


def _tools_with_described_texts(document: Document, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools with the descriptions that are in files of their own."""
    texts, known = {}, ", ".join(sorted(tool.name for tool in tools))
    for path in sorted((document.path.parent / DESCRIPTIONS).glob("*.md")):
        if all(tool.name != path.stem for tool in tools):
            document.refuse("tools", problem=f"{path} describes none of the suite's tools", remedy=f"tools: {known}")
        try:
            texts[path.stem] = read_plain_file(path).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            document.refuse("tools", problem=f"{path} cannot be read as text: {error}")
    return tuple(tool.model_copy(update={"description": texts.get(tool.name, tool.description)}) for tool in tools)


def _host_tools(document: Document, raw: SuiteFile) -> set[str]:
    named: set[str] = set()
    for index, host in enumerate(raw.hosts):
        if host.tool in named:
            document.refuse("hosts", index, "host", problem=f"{host.host!r} is declared twice")
        named.add(host.tool)
    return named


def _cases(document: Document, raw: SuiteFile, tools: set[str], probing: Probing) -> Iterator[Case]:
    shared = {probe.name for probe in raw.probes}
    seen: dict[str, Path] = {}
    packs = pack_names(document.path.parent)
    for path in _case_files(document, raw):
        source = open_document(path)
        if path.name == TASK_FILE:
            source = task_document(source, document.path.parent, raw.limits)
        else:
            refuse_recorded(source)
            source = replace(source, data=cases_in(source.data))
            refuse_task_folders(source)
        if not isinstance(source.data, list):
            source.refuse(problem="expected a list of cases", remedy="begin each case with `- id: ...`")
        for index, data in enumerate(source.data):
            case = source.shaped(Case, _with_defaults(data, raw), index)
            if case.id in seen:
                source.refuse(index, "id", problem=f"case id {case.id!r} is given twice (also in {seen[case.id].name})")
            seen[case.id] = path
            _check_case(source, index, case, tools)
            probing.check(source, (index, "probes"), case.probes, shared)
            _check_fixtures(source, index, case, packs)
            _check_snapshot(source, index, case, raw)
            yield with_user(source, index, case, folder=document.path.parent, user=raw.user)
    if not seen:
        document.refuse("cases", problem="no case is declared")


def _case_files(document: Document, raw: SuiteFile) -> list[Path]:
    patterns = (raw.cases,) if isinstance(raw.cases, str) else raw.cases
    files: list[Path] = []
    for pattern in patterns:
        if not pattern or pattern.startswith("/") or ".." in PurePath(pattern).parts:
            document.refuse(
                "cases",
                problem=f"{pattern!r} leaves the suite's folder",
                remedy="name files in it, such as cases.yaml or cases/*.yaml",
            )
        try:
            found = sorted(document.path.parent.glob(pattern))
        except (ValueError, OSError) as error:
            document.refuse("cases", problem=f"{pattern[:200]!r} is not a valid pattern of files: {error}")
        if not found:
            document.refuse("cases", problem=f"no file matches {pattern!r}")
        files += found
    return files


def _with_defaults(data: Any, suite: SuiteFile) -> Any:
    if not isinstance(data, dict):
        return data
    limits = data.get("limits", {})
    merged = {**suite.limits, **limits} if isinstance(limits, dict) else limits
    return {"clock": suite.clock, **data, "limits": merged}


def _check_case(source: Document, index: int, case: Case, tools: set[str]) -> None:
    def refuse_unknown(field: str, names: Iterator[str]) -> None:
        unknown = sorted(set(names) - tools)
        if unknown:
            source.refuse(index, field, problem=f"case {case.id!r} names {unknown}, which the suite does not declare")

    refuse_unknown("tools", iter(case.tools or ()))
    refuse_unknown("required_tools", iter(case.required_tools))
    refuse_unknown("reference", (call.tool for call in case.reference or ()))
    refuse_unknown("faults", (fault.tool for fault in case.faults if fault.tool != "*"))
    names = [check.name for check in case.checks]
    if len(names) != len(set(names)):
        source.refuse(index, "checks", problem=f"case {case.id!r} has two checks of one name")


def _check_fixtures(source: Document, index: int, case: Case, known: list[str]) -> None:
    for name in case.fixtures:
        if name not in known:
            source.refuse(
                index,
                "fixtures",
                problem=f"case {case.id!r} names the fixture pack {name!r}, which the suite does not have",
                remedy=f"packs in fixtures/: {', '.join(known) or 'none'}",
            )


def _check_snapshot(source: Document, index: int, case: Case, raw: SuiteFile) -> None:
    if case.snapshot is None:
        return
    if case.task_folder is not None:
        source.refuse(
            index,
            "snapshot",
            problem=f"case {case.id!r} is a task folder, whose image is its state",
            remedy="remove `snapshot`",
        )
    if raw.environment is None:
        source.refuse(
            index,
            "snapshot",
            problem=f"case {case.id!r} names the snapshot {case.snapshot!r}, and the suite has no environment",
            remedy="name one in suite.yaml: `environment: FOLDER_IN_IMAGES`",
        )


def _check_drift(document: Document, raw: SuiteFile, called: set[str]) -> None:
    for pattern in raw.drift:
        if not any(fnmatchcase(name, pattern) for name in called):
            document.refuse(
                "drift", pattern, problem="is none of the suite's tools", remedy=f"tools: {', '.join(sorted(called))}"
            )
