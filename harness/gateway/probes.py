"""The harness's own reads of databases and APIs before and after a trial: sent, recorded, and replayed.

Probes are not calls of the agent: they are not steps, count towards no limit, and receive no faults. A recording is the
answer after the same writes to all servers, so that a replayed trial is scored by the state at exactly this point, or
not at all.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from pydantic import JsonValue

from harness.cassettes.keys import WORLD, CallKey, key_digest
from harness.cassettes.redaction import Redactor
from harness.errors import ServiceError, UsageError
from harness.gateway.contract import QueryableServices
from harness.gateway.exchange import CallResult, ReceivedCall, replayed
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.gateway.upstream.transport import TrialThreads
from harness.sandbox.tables import QueryFailed, Table, Unmeasurable, changes
from harness.suite.cases import ApiProbe, SqlProbe, StateProbe
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces import names
from harness.values import JsonObject, canonical_json, parse_json

if TYPE_CHECKING:
    from harness.cassettes.normalisation import Normalisation
    from harness.gateway.recording import Recorder


@dataclass(kw_only=True)
class LiveProbes:
    """The services of a trial, and the servers that it reaches. `begin` is called before the agent starts."""

    services: QueryableServices | None
    http: TrialTools
    threads: TrialThreads
    values: "Normalisation | None" = None
    """What the answers of a variant are translated by, into the values that its agent was fed."""
    _before: dict[str, Mapping[str, Table] | str] = field(default_factory=dict)

    def begin(self, probes: Sequence[StateProbe]) -> None:
        """Reads the tables that will be compared. Raises ServiceError."""
        for probe in probes:
            if probe.sql is not None and probe.sql.tables is not None:
                self._before[probe.name] = self._tables_before(probe.name, probe.sql)

    async def ask(self, probe: StateProbe) -> JsonObject | None:
        """None if the answer cannot be stored. Raises ServiceError if a service has ended."""
        if probe.sql is not None:
            return await self.threads.run("probe", partial(self._of_database, probe.name, probe.sql))
        assert probe.api is not None  # the other kinds do not read the environment
        return await self._of_api(probe.api)

    def _of_database(self, name: str, sql: SqlProbe) -> JsonObject:
        """Raises ServiceError; an error of the database, and an answer beyond the limits, are returned as values."""
        before = self._before.get(name, {})
        if isinstance(before, str):
            return {"error": before}
        try:
            if sql.query is not None:
                rows: list[JsonValue] = self._services_of(sql).rows(sql.service or "", sql.query, sql.timeout_s)
                return {"rows": self._recorded_value(rows, sql.query)}
            after = {name: self._fed_rows(name, table, before.get(name)) for name, table in self._tables(sql).items()}
            return {"tables": changes(before, after, sql.ignore)}
        except QueryFailed as refused:
            return {"error": str(refused)}
        except Unmeasurable as reason:
            return {"unmeasurable": str(reason)}

    def _recorded_value(self, value: JsonValue, of: str) -> JsonValue:
        return value if self.values is None else self.values.recorded_value(value, of)

    def _fed_rows(self, name: str, table: Table, before: Table | None) -> Table:
        """The table with what the trial has left in it as the agent knows it; rows that were there before stay."""
        if self.values is None:
            return table
        old = set() if before is None else {canonical_json(row) for row in before.rows}
        rows = (row if canonical_json(row) in old else self._recorded_value(row, name) for row in table.rows)
        return replace(table, rows=tuple(row for row in rows if isinstance(row, dict)))

    def _tables_before(self, name: str, sql: SqlProbe) -> Mapping[str, Table] | str:
        """Reads before the agent starts, so that a table that cannot be read is not the agent's fault."""
        try:
            return self._tables(sql)
        except QueryFailed as refused:
            return str(refused)
        except Unmeasurable as reason:
            raise ServiceError(
                f"probe {name!r}: the tables of service {sql.service!r} cannot be compared: {reason}",
                remedy="name fewer tables, or raise the probe's `sql.timeout_s`",
            ) from None

    def _tables(self, sql: SqlProbe) -> Mapping[str, Table]:
        return self._services_of(sql).tables(sql.service or "", sql.wanted, sql.timeout_s)

    def _services_of(self, sql: SqlProbe) -> QueryableServices:
        if self.services is None:
            raise UsageError(f"no client for the database of service {sql.service!r} was configured")
        return self.services

    async def _of_api(self, api: ApiProbe) -> JsonObject | None:
        route = HttpRoute(method=api.method, path=api.path, body="none" if api.body is None else "body")
        tool = ToolSpec(name="probe", server=api.server, effect="read", http=route, timeout_s=api.timeout_s)
        arguments: JsonObject = {} if api.body is None else {"body": api.body}
        key = CallKey(server=api.server, tool="probe", effect="read", arguments=canonical_json(arguments), key="")
        answer = await self.http.call(ToolRequest(tool=tool, arguments=arguments, key=key, probe=True))
        if isinstance(answer, ToolAnswer) and answer.outcome == "oversized":
            return {"unmeasurable": f"the answer of {api.path} is larger than the limit of an answer"}
        if not isinstance(answer, ToolAnswer) or answer.outcome != "answer":
            return None
        # an agent may have chosen the words of a service's answer: they are read within bounds
        return {"status": answer.status, "body": self._recorded_value(_value_of(answer.body, parse_json), api.path)}


class TrialProbes:
    """The probes of one trial that read a database of a service, or an API."""

    def __init__(self, trial: TrialContext, client: LiveProbes | None) -> None:
        """`client` None: probes are replayed."""
        self._trial = trial
        self._client = client
        self._player = trial.player("probe")
        self._recorder: Recorder[_ProbeRead] | None = None
        if trial.mode == "record":
            from harness.gateway.recording import Codec  # a replayed trial does without the recorder

            self._recorder = trial.recording(Codec("probe"), levels=False)

    async def read(self) -> dict[str, JsonValue]:
        """Probe name -> result; a probe without a result is omitted."""
        found: dict[str, JsonValue] = {}
        for probe in gateway_probes((*self._trial.suite.probes, *self._trial.case.probes)):
            key = probe_key(probe, self._trial.redactor)
            call = ReceivedCall(
                name=key.tool,
                id=None,
                started_ns=time.monotonic_ns(),
                arguments=json.loads(key.arguments),
                kind=names.PROBE,
                effect="read",
                probe=probe.name,
            )
            result = await self._exchanged(_ProbeRead(probe=probe, key=key))
            await self._trial.exchange.trace(call, result, failed=result.content is None)
            if result.content is not None:
                found[probe.name] = result.content
        return found

    async def _exchanged(self, read: "_ProbeRead") -> CallResult:
        exchange = self._trial.exchange
        answer: ToolAnswer | ToolMiss | None
        if self._player is not None:
            answer = replayed(self._player, read.key)
        elif self._recorder is not None:
            answer, _ = await self._recorder.record(read, self._answer)
        else:
            answer = await self._answer(read)
        if isinstance(answer, ToolMiss):
            missed = exchange.missed(read.key, answer, read.probe.name)
            return CallResult(tier=missed.tier, nearest=missed.nearest)
        received = answer or ToolAnswer(outcome="answer", tier=self._trial.tier)
        exchange.ledger.count("probe", read.key, received)
        return CallResult(content=_value_of(received.body, json.loads), tier=received.tier)

    async def _answer(self, read: "_ProbeRead", _: bool = False) -> ToolAnswer | None:
        assert self._client is not None  # without a cassette, a real service answers
        content = await self._client.ask(read.probe)
        if content is None:
            return None
        body = json.dumps(self._trial.redactor.value(content), ensure_ascii=False).encode()
        return ToolAnswer(outcome="answer", tier=self._trial.tier, status=200, headers=_JSON, body=body)


_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, kw_only=True)
class _ProbeRead:
    """A probe with its cassette key."""

    probe: StateProbe
    key: CallKey


def probe_client(trial: TrialContext, http: TrialTools) -> LiveProbes:
    """The client of the real services, after it has read the tables to compare. Raises ServiceError."""
    client = LiveProbes(services=trial.started_services, http=http, threads=trial.threads, values=trial.fed_values)
    client.begin(gateway_probes((*trial.suite.probes, *trial.case.probes)))
    return client


def gateway_probes(probes: Sequence[StateProbe]) -> tuple[StateProbe, ...]:
    """The probes that the gateway reads: not those of tools' answers, and not the files of the sandbox."""
    return tuple(probe for probe in probes if probe.api is not None or asks_service(probe))


def asks_service(probe: StateProbe) -> bool:
    return probe.sql is not None and probe.sql.service is not None


def probe_key(probe: StateProbe, redactor: Redactor) -> CallKey:
    """The cassette key of a probe: it depends on the probe's request, not on its name."""
    kind, request = ("sql", probe.sql) if probe.sql is not None else ("api", probe.api)
    assert request is not None
    plain = request.model_dump(mode="json", exclude={"timeout_s"}, exclude_defaults=True)
    text = canonical_json(redactor.value(plain))
    return CallKey(server=WORLD, tool=kind, effect="read", arguments=text, key=key_digest(kind, text, "probe"))


def _value_of(body: bytes, read: Callable[[bytes], JsonValue]) -> JsonValue:
    """What `read` makes of an answer; its text if that is not JSON for `read`; an empty body: None."""
    try:
        return read(body) if body else None
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")
