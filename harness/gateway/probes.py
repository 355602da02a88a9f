"""The harness's own reads of databases and APIs before and after a trial: sent, recorded, and replayed.

They are not calls of the agent: they are no steps, count towards no limit, and receive no faults. A recording is the
answer after the same writes to all servers, so that a replayed trial is scored by the state at exactly this point, or
not at all.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness.case import ApiProbe, HttpRoute, SqlProbe, StateProbe, ToolSpec
from harness.cassette import CallKey, Missed, Player, Recording, Redactor, TrialRecording, key_digest
from harness.cassette.state import WORLD
from harness.errors import ServiceError, UsageError
from harness.gateway.contract import AskedServices
from harness.gateway.ledger import Ledger
from harness.sandbox import QueryFailed, Table, Unmeasurable, changes
from harness.trace import ReplayTier, TraceRecorder, names
from harness.upstream import Reached, ToolAnswer, ToolRequest, ToolSource
from harness.values import JsonObject, JsonValue, canonical_json


class ProbeClient(Protocol):
    """Makes the reads of one trial in the real world."""

    async def ask(self, probe: StateProbe) -> JsonObject | None:
        """None where the answer cannot be stored. Raises ServiceError where a service has ended."""
        ...


@dataclass(kw_only=True)
class LiveProbes:
    """The services of a trial, and the servers that it reaches. `begin` is called before the agent starts."""

    services: AskedServices | None
    http: ToolSource
    _before: dict[str, Mapping[str, Table] | str] = field(default_factory=dict)

    def begin(self, probes: Sequence[StateProbe]) -> None:
        """Reads the tables that will be compared. Raises ServiceError."""
        for probe in probes:
            if probe.sql is not None and probe.sql.tables is not None:
                self._before[probe.name] = self._tables_before(probe.name, probe.sql)

    async def ask(self, probe: StateProbe) -> JsonObject | None:
        if probe.sql is not None:
            return await asyncio.to_thread(self._of_database, probe.name, probe.sql)
        assert probe.api is not None  # the others do not read the environment
        return await self._of_api(probe.api)

    def _of_database(self, name: str, sql: SqlProbe) -> JsonObject:
        """Raises ServiceError; an error of the database, and an answer beyond the limits, are returned as values."""
        before = self._before.get(name, {})
        if isinstance(before, str):
            return {"error": before}
        try:
            if sql.query is not None:
                return {"rows": self._asked(sql).rows(sql.service or "", sql.query, sql.timeout_s)}
            return {"tables": changes(before, self._tables(sql), sql.ignore)}
        except QueryFailed as refused:
            return {"error": str(refused)}
        except Unmeasurable as reason:
            return {"unmeasurable": str(reason)}

    def _tables_before(self, name: str, sql: SqlProbe) -> Mapping[str, Table] | str:
        """Before the agent has started, so that what cannot be read is none of its doing."""
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
        return self._asked(sql).tables(sql.service or "", sql.wanted, sql.timeout_s)

    def _asked(self, sql: SqlProbe) -> AskedServices:
        if self.services is None:
            raise UsageError(f"nothing was given that can ask the database of service {sql.service!r}")
        return self.services

    async def _of_api(self, api: ApiProbe) -> JsonObject | None:
        route = HttpRoute(method=api.method, path=api.path, body="none" if api.body is None else "body")
        tool = ToolSpec(name="probe", server=api.server, effect="read", http=route, timeout_s=api.timeout_s)
        arguments: JsonObject = {} if api.body is None else {"body": api.body}
        key = CallKey(server=api.server, tool="probe", effect="read", arguments=canonical_json(arguments), key="")
        answer = await self.http.call(ToolRequest(tool=tool, arguments=arguments, key=key, probe=True))
        if isinstance(answer, ToolAnswer) and answer.outcome == "oversized":
            return {"unmeasurable": f"the answer of {api.path} is larger than is read back"}
        if not isinstance(answer, ToolAnswer) or answer.outcome != "answer":
            return None
        return {"status": answer.status, "body": _decoded(answer.body)}


@dataclass(kw_only=True)
class TrialProbes:
    """The probes of one trial that read a database of a service, or an API."""

    probes: tuple[StateProbe, ...]
    asking: ProbeClient | None
    """None: they are replayed."""
    player: Player | None
    trial_recording: TrialRecording | None
    """None: nothing is recorded."""
    recorder: TraceRecorder
    redactor: Redactor
    ledger: Ledger
    tier: Reached = "live"

    async def read(self) -> dict[str, JsonValue]:
        """Probe name -> what it gave; a probe that gave nothing is left out."""
        found: dict[str, JsonValue] = {}
        for probe in self.probes:
            started = self.recorder.now_ns()
            key = probe_key(probe, self.redactor)
            content, tier = await self._content(probe, key)
            self._trace(probe, key, content, tier, started)
            if content is not None:
                found[probe.name] = content
        return found

    async def _content(self, probe: StateProbe, key: CallKey) -> tuple[JsonValue, ReplayTier]:
        if self.asking is None:
            return self._replayed(probe, key)
        content = await self.asking.ask(probe)
        self.ledger.tiers[self.tier] += 1
        self.ledger.count_provenance("probe", self.tier, key)
        if content is None:
            return None, self.tier
        cleaned = self.redactor.value(content)
        if self.trial_recording is not None:
            self._record(self.trial_recording, key, json.dumps(cleaned, ensure_ascii=False).encode())
        return cleaned, self.tier

    def _replayed(self, probe: StateProbe, key: CallKey) -> tuple[JsonValue, ReplayTier]:
        assert self.player is not None  # without a source, a cassette answers
        played = self.player.play(key)
        if isinstance(played, Missed):
            nearest: list[JsonValue] = [item.model_dump(mode="json") for item in played.nearest]
            asked: JsonValue = json.loads(key.arguments)
            self.ledger.miss({"tool": key.tool, "arguments": asked, "nearest": nearest, "probe": probe.name})
            return None, "miss"
        self.ledger.tiers[played.tier] += 1
        self.ledger.count_provenance("probe", played.tier, key, played.recording.mark.provenance)
        return _decoded(played.recording.body), played.tier

    def _record(self, trial_recording: TrialRecording, key: CallKey, body: bytes) -> None:
        position = trial_recording.position(key)
        if trial_recording.outcome(position, "answer", 200) is None:
            return
        headers = {"content-type": "application/json"}
        mark = position.mark("probe").model_copy(update={"occurrence": 0})
        trial_recording.keep(
            position, Recording(mark=mark, arguments=key.arguments, status=200, headers=headers, body=body)
        )

    def _trace(self, probe: StateProbe, key: CallKey, content: JsonValue, tier: ReplayTier, started_ns: int) -> None:
        self.recorder.record(
            f"{names.EXECUTE_TOOL} {key.tool}",
            {
                names.OPERATION: names.EXECUTE_TOOL,
                names.STEP_KIND: names.PROBE,
                names.PROBE_NAME: probe.name,
                names.TOOL_NAME: key.tool,
                names.TOOL_ARGUMENTS: key.arguments,
                names.TOOL_EFFECT: "read",
                names.TOOL_RESULT: json.dumps(content, ensure_ascii=False),
                names.REPLAY_TIER: tier,
            },
            started_ns,
            failed=content is None,
        )


def gateway_probes(probes: Sequence[StateProbe]) -> tuple[StateProbe, ...]:
    """Those that are read here: not the tools' answers, and not the files of the sandbox."""
    return tuple(probe for probe in probes if probe.api is not None or asks_service(probe))


def asks_service(probe: StateProbe) -> bool:
    return probe.sql is not None and probe.sql.service is not None


def probe_key(probe: StateProbe, redactor: Redactor) -> CallKey:
    """The cassette key of a probe: it depends on the probe's request, not on its name."""
    kind, asked = ("sql", probe.sql) if probe.sql is not None else ("api", probe.api)
    assert asked is not None
    plain = asked.model_dump(mode="json", exclude={"timeout_s"}, exclude_defaults=True)
    text = canonical_json(redactor.value(plain))
    return CallKey(server=WORLD, tool=kind, effect="read", arguments=text, key=key_digest(kind, text, "probe"))


def _decoded(body: bytes) -> JsonValue:
    """JSON where it is some, else the text; empty: None."""
    if not body:
        return None
    try:
        value: JsonValue = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
    return value
