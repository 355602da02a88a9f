"""Which recorded reads can be sent again, and the writes that lead to their state."""

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import VARY, WORLD, CallKey, StateChain, initial_state
from harness.cassettes.recordings import Recording
from harness.cassettes.volatility import unfolded
from harness.errors import OutOfTime
from harness.gateway.toolbox import Toolbox
from harness.gateway.upstream.effects import effect_of
from harness.gateway.upstream.host_calls import WebCall, absolute_address
from harness.gateway.upstream.http_tools import declared_resets
from harness.gateway.upstream.sources import ToolRequest
from harness.gateway.upstream.transport import Refusal
from harness.suite.hosts import HostSpec
from harness.suite.suites import StateNames, Suite, state_names
from harness.suite.tools import Effect, ToolSpec, values_at
from harness.values import JsonObject

_HIDDEN = re.compile(r"<secret:[a-z]+:[0-9a-f]{8}>")
AFTER_A_WRITE = "it depends on writes made before it"
_MOST_TIMES = 3
"""The maximum number of times that a repeatedly recorded read is sent."""


@dataclass(frozen=True, kw_only=True)
class ReplayableRead:
    """One recorded read, with all cases whose cassettes contain it."""

    recordings: Mapping[str, Recording]
    """The recordings by case: their answers may differ."""
    call: ToolRequest | WebCall | None
    """The request to send; None if it cannot be sent, for the reason in `why_not`."""
    why_not: str | None = None

    @property
    def recording(self) -> Recording:
        """A recording that represents all of them."""
        return next(iter(self.recordings.values()))

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(sorted(self.recordings))

    @property
    def follows_a_write(self) -> bool:
        """Whether the read depends on an earlier write."""
        return not is_at_start(self.recording)


def find_replayable_reads(
    suite: Suite, cassettes: Mapping[str, Cassette], secrets: Mapping[str, str], tools: Iterable[str]
) -> list[ReplayableRead]:
    """Every recorded read once, in the order of the cassettes; an empty `tools` selects all tools.

    A read after a write depends on the written data: without the write it is a different request, so it has no `call`.
    `harness.drift.replayable` describes how it is sent after the same writes.
    """
    wanted, found = set(tools), dict[tuple[str, str, int], dict[str, Recording]]()
    for case, cassette in sorted(cassettes.items()):
        for recording in cassette.recordings:
            if _is_read(recording) and (not wanted or recording.mark.tool in wanted):
                found.setdefault(recording.place, {})[case] = recording
    builder = CallBuilder(suite, secrets, generated_values(suite, cassettes))
    return [builder.ask(recordings) for recordings in found.values()]


def _is_read(recording: Recording) -> bool:
    mark = recording.mark
    return mark.kind != "model" and mark.effect == "read" and mark.occurrence < _MOST_TIMES


def is_at_start(recording: Recording) -> bool:
    """Whether no write preceded the call that its answer could depend on."""
    return recording.mark.follows_no_write and recording.mark.state == initial_state(recording.mark.state_name)


def generated_values(suite: Suite, cassettes: Mapping[str, Cassette]) -> set[str]:
    """Placeholders for values that exist only in the run that generated them."""
    with_generated_ids = {tool.name: tool.generated_ids for tool in suite.tools if tool.generated_ids}
    found: set[str] = set()
    for cassette in cassettes.values():
        for recording in (one for tool in with_generated_ids for one in cassette.of_tool(tool)):
            try:
                body: JsonValue = unfolded(json.loads(recording.body))
            except (ValueError, RecursionError):
                continue
            pointers = with_generated_ids[recording.mark.tool]
            found |= {value for at in pointers for value in values_at(body, at) if isinstance(value, str)}
    return found


class CallBuilder:
    """Builds a call to send from a recording."""

    def __init__(self, suite: Suite, secrets: Mapping[str, str], generated: set[str]) -> None:
        self._toolbox = Toolbox(suite)
        self._hosts = {host.tool: host for host in suite.hosts}
        self._secrets = secrets
        self._generated = generated

    def ask(self, recordings: Mapping[str, Recording]) -> ReplayableRead:
        recording = next(iter(recordings.values()))
        try:
            return ReplayableRead(recordings=recordings, call=self._request_from(recording))
        except (ValueError, OutOfTime) as error:
            return ReplayableRead(recordings=recordings, call=None, why_not=str(error))

    def _request_from(self, recording: Recording) -> ToolRequest | WebCall:
        if not is_at_start(recording):
            raise ValueError(AFTER_A_WRITE)
        text = recording.arguments
        if any(json.dumps(value, ensure_ascii=False) in text for value in self._generated):
            raise ValueError("it uses an id that another call of the same run generated")
        return self.call(recording, json.loads(text))

    def call(self, recording: Recording, arguments: JsonObject) -> ToolRequest | WebCall:
        """The recorded call with these arguments, which still contain the suite's secrets as placeholders.

        Raises ValueError with the reason why it cannot be sent, OutOfTime if an expression of the schema takes too
        long.
        """
        text = json.dumps(arguments, ensure_ascii=False)
        if _HIDDEN.search(text):
            raise ValueError("its request contains a secret whose value is not stored")
        for name, value in self._secrets.items():
            text = text.replace(f"<secret:{name}>", json.dumps(value, ensure_ascii=False)[1:-1])
        arguments, mark = json.loads(text), recording.mark
        key = CallKey(
            server=mark.server, tool=mark.tool, effect=mark.effect, arguments=recording.arguments, key=mark.key
        )
        if mark.kind == "http":
            return _web_call(self._hosts.get(mark.tool), arguments, key)
        return self._tool_call(arguments, key)

    def _tool_call(self, arguments: JsonObject, key: CallKey) -> ToolRequest:
        tool = self._toolbox.tools.get(key.tool)
        if tool is None:
            raise ValueError("the suite no longer has this tool")
        spec: ToolSpec = tool.spec
        if spec.effect != key.effect or spec.source == "sandbox":
            raise ValueError(_OTHER_EFFECT[key.effect])
        problem = tool.problem_with(arguments, arguments)
        if problem is not None:
            raise ValueError(f"its recorded arguments are incomplete: {problem}")
        return ToolRequest(tool=spec.model_copy(update={"rate_limit": None}), arguments=arguments, key=key)


_OTHER_EFFECT: dict[Effect, str] = {
    "read": "the suite does not say that it only reads",
    "write": "the suite does not say that it writes",
}


def _web_call(host: HostSpec | None, asked: JsonObject, key: CallKey) -> WebCall:
    method, url = str(asked["method"]), str(asked["url"])
    if host is None:
        raise ValueError("the suite no longer has this host")
    try:
        address = absolute_address(url + _query(asked.get("query")))
    except Refusal as error:
        raise ValueError(str(error)) from None
    stored, vary = asked.get("headers"), asked.get(VARY)
    body, media = _body_and_type(asked)
    headers = {"content-type": media} if media else {}
    for part in (stored, vary):
        named = part.items() if isinstance(part, dict) else ()
        headers |= {name: str(value) for name, value in named if value and not isinstance(value, dict)}
    if cookies := asked.get("cookies"):
        assert isinstance(cookies, dict)  # one member for each name
        headers["cookie"] = "; ".join(f"{name}={one}" for name, value in cookies.items() for one in _several(value))
    if effect_of(host, address.path, address.query, method, headers, body) != key.effect:
        raise ValueError(_OTHER_EFFECT[key.effect])
    return WebCall(
        host=host.model_copy(update={"rate_limit": None}),  # the sender waits itself, outside of the measured time
        address=address,
        method=method,
        headers=headers,
        body=body,
        asked=asked,
        key=key,
    )


def _query(query: JsonValue) -> str:
    match query:
        case str():
            return f"?{query}"
        case dict():
            pairs = [(name, one) for name, value in query.items() for one in _several(value)]
            return f"?{urlencode(pairs, quote_via=quote)}"
        case _:
            return ""


def _several(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _body_and_type(asked: JsonObject) -> tuple[bytes, str | None]:
    if "json" in asked:
        return json.dumps(asked["json"], ensure_ascii=False).encode(), "application/json"
    if "text" in asked:
        return str(asked["text"]).encode(), "text/plain"
    if isinstance(form := asked.get("form"), dict):
        pairs = [(name, one) for name, value in form.items() for one in _several(value)]
        return urlencode(pairs).encode(), "application/x-www-form-urlencoded"
    if {"sha256", "json_sha256", "multipart"} & set(asked):
        raise ValueError("only the digest of its body is stored")
    return b"", None


# A cassette stores for each call the hash of the writes before it. The writes themselves are found by following the
# hashes from the initial state: see `harness.cassettes.keys`.

MOST_RESTORES = 20
"""The maximum number of resets and restores by a probe for reads after writes."""
_MOST_STATES = 2000
"""The number of states of one cassette that are examined to find the writes before a read."""

Writes = tuple[Recording, ...]


@dataclass(frozen=True, kw_only=True)
class ChainReplay:
    """The writes of one cassette in their order, and the reads that are sent between and after them."""

    cassette: Cassette
    """The cassette of the case whose values the writes contain."""
    writes: Writes
    reads: Mapping[int, Sequence[ReplayableRead]]
    """Number of preceding writes -> the reads that are sent after them."""
    resets: tuple[str, ...]
    """Live servers that are reset before and after it."""

    @property
    def servers(self) -> frozenset[str]:
        """All servers that are called."""
        asked = (ask.recording for asks in self.reads.values() for ask in asks)
        return frozenset(one.mark.server for one in (*self.writes, *asked))


@dataclass(kw_only=True)
class ReplayPlan:
    """The calls that are sent after writes, and the reads that cannot be sent."""

    replays: list[ChainReplay] = field(default_factory=list)
    not_asked: dict[str, int] = field(default_factory=dict)
    """Reason -> number of reads."""

    def leave_out(self, reason: str, count: int = 1) -> None:
        self.not_asked[reason] = self.not_asked.get(reason, 0) + count


def plan_replays(suite: Suite, cassettes: Mapping[str, Cassette], asks: Iterable[ReplayableRead]) -> ReplayPlan:
    """One replay for each longest chain of writes; the reads of the states that it passes are sent on the way."""
    plan, names = ReplayPlan(), state_names(suite)
    found: dict[str, dict[tuple[str, str], Writes]] = {}
    placed: list[tuple[str, Writes, ReplayableRead]] = []
    for ask in asks:
        for case in ask.cases:
            if case not in found:
                found[case] = _chains(cassettes[case], names)
        place = next(
            ((case, found[case][own]) for case in ask.cases if (own := _server_and_state(ask)) in found[case]), None
        )
        problem = _unmet(ask) if place is None else _why_not_writable(suite, names, place[1])
        if place is None or problem is not None:
            plan.leave_out(f"{AFTER_A_WRITE}{problem}")
        else:
            placed.append((*place, ask))
    grouped = _grouped(placed)
    grouped.sort(key=lambda one: -sum(map(len, one[2].values())))
    for case, writes, reads in grouped[:MOST_RESTORES]:
        plan.replays.append(_replay(suite, names, cassettes[case], writes, reads))
    for _, _, reads in grouped[MOST_RESTORES:]:
        reason = f"{AFTER_A_WRITE}; a probe restores {MOST_RESTORES} times at most: choose with --case or --tool"
        plan.leave_out(reason, sum(map(len, reads.values())))
    return plan


def _server_and_state(ask: ReplayableRead) -> tuple[str, str]:
    return ask.recording.mark.server, ask.recording.mark.state


def _unmet(ask: ReplayableRead) -> str:
    if ask.recording.mark.kind not in {"tool", "http"}:
        return "; a live run calls it"
    return ", and the cassette does not hold every write that led there"


def _chains(cassette: Cassette, names: StateNames) -> dict[tuple[str, str], Writes]:
    """(Server, state) of the cassette's reads -> the fewest writes that lead there."""
    calls = [one for one in cassette.recordings if one.mark.kind in {"tool", "http"}]
    writes = [one for one in calls if one.mark.effect == "write"]
    readers = {one.mark.server for one in calls if one.mark.effect == "read"}
    found: dict[tuple[str, str], Writes] = {}
    seen, waiting = set[str](), deque[Writes]([()])
    while waiting and len(seen) < _MOST_STATES:
        made = waiting.popleft()
        chain = chain_after(made, names)
        world = chain.state(WORLD)
        if world in seen:
            continue
        seen.add(world)
        for server in readers:
            found.setdefault((server, chain.state(server)), made)
        waiting.extend((*made, one) for one in writes if one.mark.state == chain.state(one.mark.server))
    return found


def chain_after(writes: Iterable[Recording], names: StateNames) -> StateChain:
    """The states after these writes."""
    chain = StateChain(names)
    for one in writes:
        chain.advance(key_of(one))
    return chain


def key_of(recording: Recording) -> CallKey:
    """The recorded call as a trial would make it."""
    mark = recording.mark
    return CallKey(server=mark.server, tool=mark.tool, effect=mark.effect, arguments=recording.arguments, key=mark.key)


def _why_not_writable(suite: Suite, names: StateNames, writes: Writes) -> str | None:
    """Why the writes may not be sent; None: every written server is restored or disposable."""
    for name in sorted({one.mark.server for one in writes}):
        server = suite.reached.get(name)
        if server is None:
            return f", and the suite no longer has the server {name!r}"
        if server.service is not None:
            continue
        if not server.disposable:
            return f", and the server {name!r} is not `disposable`: a live run calls it"
        if not resets_of(suite, names, {name}):
            return f", and the server {name!r} has no `reset:` to bring it to a known state"
    if any(one.mark.outcome != "answer" for one in writes):
        return ", and a write before it was recorded without an answer"
    return None


def resets_of(suite: Suite, names: StateNames, called: Iterable[str]) -> tuple[str, ...]:
    """Live servers that declare `reset` and share a state with a called server."""
    states = {names.names.get(name, name) for name in called}
    return tuple(name for name in declared_resets(suite) if names.names.get(name, name) in states)


def _grouped(
    placed: Sequence[tuple[str, Writes, ReplayableRead]],
) -> list[tuple[str, Writes, dict[int, list[ReplayableRead]]]]:
    """Each read with the longest chain of its case that begins with the read's preceding writes."""
    grouped: list[tuple[str, Writes, dict[int, list[ReplayableRead]]]] = []
    for case, writes, ask in sorted(placed, key=lambda one: -len(one[1])):
        place = next((one for one in grouped if one[0] == case and one[1][: len(writes)] == writes), None)
        if place is None:
            place = (case, writes, {})
            grouped.append(place)
        place[2].setdefault(len(writes), []).append(ask)
    return grouped


def _replay(
    suite: Suite, names: StateNames, cassette: Cassette, writes: Writes, reads: Mapping[int, Sequence[ReplayableRead]]
) -> ChainReplay:
    return ChainReplay(
        cassette=cassette,
        writes=writes,
        reads=reads,
        resets=resets_of(suite, names, {one.mark.server for one in writes}),
    )
