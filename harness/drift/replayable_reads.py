"""Which recorded reads can be sent again without an agent, and why the others cannot."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from harness.case import Effect, HostSpec, Suite, ToolSpec, values_at
from harness.cassette import CallKey, Cassette, Recording, initial_state, unfolded
from harness.errors import OutOfTime
from harness.gateway import Toolbox
from harness.upstream import Refusal, ToolRequest, WebCall, absolute_address, unroutable
from harness.values import JsonObject, JsonValue

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
    """The request to send; None where it cannot be sent, for the reason in `why_not`."""
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
    `harness.drift.chains` describes how it is sent after the same writes.
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
            return ReplayableRead(recordings=recordings, call=self._call(recording))
        except (ValueError, OutOfTime) as error:
            return ReplayableRead(recordings=recordings, call=None, why_not=str(error))

    def _call(self, recording: Recording) -> ToolRequest | WebCall:
        if not is_at_start(recording):
            raise ValueError(AFTER_A_WRITE)
        text = recording.arguments
        if any(json.dumps(value, ensure_ascii=False) in text for value in self._generated):
            raise ValueError("it uses an id that another call of the same run generated")
        return self.call(recording, json.loads(text))

    def call(self, recording: Recording, arguments: JsonObject) -> ToolRequest | WebCall:
        """The recorded call with these arguments, which still contain the suite's secrets as placeholders.

        Raises ValueError with the reason why it cannot be sent, OutOfTime where an expression of the schema takes too
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
        problem = tool.problem_with(arguments) or unroutable(spec, arguments)
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
    if host.effect_of(method, address.path) != key.effect:
        raise ValueError(_OTHER_EFFECT[key.effect])
    stored = asked.get("headers")
    headers = {name: str(value) for name, value in stored.items()} if isinstance(stored, dict) else {}
    body, media = _body(asked)
    return WebCall(
        host=host.model_copy(update={"rate_limit": None}),  # the sender waits itself, outside of the measured time
        address=address,
        method=method,
        headers=headers | ({"content-type": media} if media else {}),
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


def _body(asked: JsonObject) -> tuple[bytes, str | None]:
    if "json" in asked:
        return json.dumps(asked["json"], ensure_ascii=False).encode(), "application/json"
    if "text" in asked:
        return str(asked["text"]).encode(), "text/plain"
    if isinstance(form := asked.get("form"), dict):
        pairs = [(name, one) for name, value in form.items() for one in _several(value)]
        return urlencode(pairs).encode(), "application/x-www-form-urlencoded"
    if "sha256" in asked or "json_sha256" in asked:
        raise ValueError("only the digest of its body is stored")
    return b"", None
