"""Checks before a run whether the probes of a suite and of its cases are valid; errors name file and field."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.case.document import Document
from harness.case.endpoints.tool import ToolSpec
from harness.case.probe import ApiProbe, StateProbe
from harness.case.suite import ToolServer


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
