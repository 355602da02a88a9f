"""Which recorded reads can be sent again without an agent, and why the others cannot."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from harness.case import HostSpec, Suite, ToolSpec
from harness.case.volatile import values_at
from harness.cassette.keys import CallKey
from harness.cassette.recording import Recording
from harness.cassette.state import initial_state
from harness.cassette.tape import Tape
from harness.errors import OutOfTime
from harness.frozen import JsonObject, JsonValue
from harness.gateway.incoming import Refusal
from harness.gateway.sources.http import unroutable
from harness.gateway.sources.source import ToolRequest
from harness.gateway.toolbox import Toolbox
from harness.gateway.web.address import absolute_address
from harness.gateway.web.call import WebCall

_HIDDEN = re.compile(r"<secret:[a-z]+:[0-9a-f]{8}>")
_MOST_TIMES = 3
"""A read that was recorded more often is sent again so often."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One recorded read, of all cases whose tapes hold it."""

    recordings: Mapping[str, Recording]
    """By case: they may have been answered differently."""
    call: ToolRequest | WebCall | None
    """As it is sent; None: it cannot be, and `why_not` says why."""
    why_not: str | None = None

    @property
    def recording(self) -> Recording:
        """One that stands for all."""
        return next(iter(self.recordings.values()))

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(sorted(self.recordings))


def asks_of(suite: Suite, tapes: Mapping[str, Tape], secrets: Mapping[str, str], tools: Iterable[str]) -> list[Ask]:
    """Every recorded read once, in the order of the tapes; `tools` empty: of all tools.

    A read after a write asks about what was written: without the write it is another question, so it is never sent.
    """
    wanted, found = set(tools), dict[tuple[str, str, int], dict[str, Recording]]()
    for case, tape in sorted(tapes.items()):
        for recording in tape.recordings:
            if _is_read(recording) and (not wanted or recording.mark.tool in wanted):
                found.setdefault(recording.place, {})[case] = recording
    builder = _Builder(suite, secrets, _minted(suite, tapes))
    return [builder.ask(recordings) for recordings in found.values()]


def _is_read(recording: Recording) -> bool:
    mark = recording.mark
    return mark.kind != "model" and mark.effect == "read" and mark.occurrence < _MOST_TIMES


def _minted(suite: Suite, tapes: Mapping[str, Tape]) -> set[str]:
    """Stand-ins for values that live only in the run that made them."""
    minting = {tool.name: tool.mints for tool in suite.tools if tool.mints}
    found: set[str] = set()
    for tape in tapes.values():
        for recording in (one for tool in minting for one in tape.of_tool(tool)):
            try:
                body: JsonValue = json.loads(recording.body)
            except ValueError:
                continue
            pointers = minting[recording.mark.tool]
            found |= {value for at in pointers for value in values_at(body, at) if isinstance(value, str)}
    return found


class _Builder:
    """Makes a sendable call of a recording."""

    def __init__(self, suite: Suite, secrets: Mapping[str, str], minted: set[str]) -> None:
        self._toolbox = Toolbox(suite)
        self._hosts = {host.tool: host for host in suite.hosts}
        self._secrets = secrets
        self._minted = minted

    def ask(self, recordings: Mapping[str, Recording]) -> Ask:
        recording = next(iter(recordings.values()))
        try:
            return Ask(recordings=recordings, call=self._call(recording))
        except (ValueError, OutOfTime) as error:
            return Ask(recordings=recordings, call=None, why_not=str(error))

    def _call(self, recording: Recording) -> ToolRequest | WebCall:
        text = recording.arguments
        if not recording.mark.follows_no_write or recording.mark.state != initial_state(recording.mark.state_name):
            raise ValueError("it asks about what was written before it; a live run asks it")
        if _HIDDEN.search(text):
            raise ValueError("its request holds a secret that is not kept")
        if any(json.dumps(value, ensure_ascii=False) in text for value in self._minted):
            raise ValueError("it asks for what another call of the same run has made")
        for name, value in self._secrets.items():
            text = text.replace(f"<secret:{name}>", json.dumps(value, ensure_ascii=False)[1:-1])
        arguments: JsonObject = json.loads(text)
        mark = recording.mark
        key = CallKey(server=mark.server, tool=mark.tool, effect="read", arguments=recording.arguments, key=mark.key)
        if mark.kind == "http":
            return _web_call(self._hosts.get(mark.tool), arguments, key)
        return self._tool_call(arguments, key)

    def _tool_call(self, arguments: JsonObject, key: CallKey) -> ToolRequest:
        tool = self._toolbox.tools.get(key.tool)
        if tool is None:
            raise ValueError("the suite has this tool no more")
        spec: ToolSpec = tool.spec
        if spec.effect != "read" or spec.source == "sandbox":
            raise ValueError("the suite does not say that it only reads")
        problem = tool.problem_with(arguments) or unroutable(spec, arguments)
        if problem is not None:
            raise ValueError(f"its recorded arguments are not whole: {problem}")
        return ToolRequest(tool=spec.model_copy(update={"rate_limit": None}), arguments=arguments, key=key)


def _web_call(host: HostSpec | None, asked: JsonObject, key: CallKey) -> WebCall:
    method, url = str(asked["method"]), str(asked["url"])
    if host is None:
        raise ValueError("the suite has this host no more")
    try:
        address = absolute_address(url + _query(asked.get("query")))
    except Refusal as error:
        raise ValueError(str(error)) from None
    if host.effect_of(method, address.path) != "read":
        raise ValueError("the suite does not say that it only reads")
    told = asked.get("headers")
    headers = {name: str(value) for name, value in told.items()} if isinstance(told, dict) else {}
    body, media = _body(asked)
    return WebCall(
        host=host.model_copy(update={"rate_limit": None}),  # whoever sends it waits, and does not time the waiting
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
        raise ValueError("only the digest of its body is kept")
    return b"", None
