"""The hosts of a suite: what all trials of a run share, and the handler of each trial."""

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from multidict import CIMultiDict
from typing_extensions import override

from harness.cassettes.keys import CallKey, varied
from harness.cassettes.normalisation import Normalisation
from harness.cassettes.player import Player
from harness.cassettes.recordings import Kind
from harness.cassettes.redaction import SECRET_HEADERS, Redactor, stand_in
from harness.gateway.exchange import replayed
from harness.gateway.forward_proxy import ForwardProxy, PageHandler, WebHandler
from harness.gateway.recording import Codec, Recorder
from harness.gateway.sniffer import Authority
from harness.gateway.suite_tools import Outages
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.host_calls import Sink, WebCall, WebSource
from harness.gateway.upstream.live_hosts import LiveWeb
from harness.gateway.upstream.request_parts import names_a_credential, vary_names
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.sandbox.provider import ProxiedHosts
from harness.suite.agents import stands_for
from harness.suite.hosts import HostSpec
from harness.suite.models import ToolMode
from harness.suite.suites import Suite, allowed_hosts

# Credentials that a host issues in the headers of its answers: cookies and tokens.
#
# A session needs the real values, and no cassette may have them. The cassette has a placeholder for each, which depends
# only on the call that issued it: a recording made again is the same. A replay gives the agent the placeholder, and the
# agent sends it back: in a cookie, or as a CSRF token in a header or a field. The recorded request has it there too,
# because the redactor knows the real value. If a placeholder is sent while a cassette is recorded again, the host
# receives the real value.

_EXPIRES: Final = re.compile(r"(?i)(?<=;)(\s*expires=)([^;]*)")
_MAX_AGE: Final = re.compile(r"(?i);\s*max-age=\s*(-?[0-9]+)")
_LONG: Final = 16
REPLAYED: Final = ("replayed",)
"""The place of an answer that has placeholders already."""
_SURE: Final = 8
"""Characters from which a value with a digit does not occur in other texts by chance."""


@dataclass(kw_only=True)
class Issued:
    """The credentials of one trial."""

    redactor: Redactor
    _real: dict[str, str] = field(default_factory=dict)
    """Placeholder -> the value of this run."""
    _known: dict[str, str] = field(default_factory=dict)

    def receive(self, headers: Mapping[str, str], place: tuple[object, ...]) -> None:
        """Learns what an answer issues, before the agent has it; `place` identifies the answer."""
        for name, value in headers.items():
            low = name.lower()
            cookie, _, rest = value.partition("=")
            if low == "set-cookie":
                self._learn(
                    cookie.strip(), rest.partition(";")[0].strip().strip('"'), place, deleted=_is_deleted(value)
                )
            elif low in SECRET_HEADERS:
                self._learn(low, value, place)

    def _learn(self, name: str, value: str, place: tuple[object, ...], *, deleted: bool = False) -> None:
        tells, has_digit = names_a_credential(name), any(map(str.isdigit, value))
        sure = len(value) >= (_SURE if has_digit else _LONG)
        if deleted or not value or not (tells or (has_digit and len(value) >= _LONG)) or value in self._real:
            return
        digest = hashlib.sha256("\0".join(map(str, (*place, name))).encode()).hexdigest()
        placeholder = value if place == REPLAYED else stand_in("", digest, _LONG)
        placeholder = self._known.setdefault(value, placeholder)
        self._real[placeholder] = value
        for form in {value, unquote(value), placeholder}:
            self.redactor.bind(form, placeholder, weak=not sure)

    def stored(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of an answer with placeholders; several cookies are lines of one text."""
        found: dict[str, str] = {}
        for name, value in headers.items():
            low = name.lower()
            if low == "set-cookie":
                cookie, equals, rest = value.partition("=")
                plain, semicolon, attributes = rest.partition(";")
                text = f"{cookie}{equals}{self._known.get(plain.strip().strip(chr(34)), plain)}{semicolon}{attributes}"
                text = _EXPIRES.sub(_relative, text)
                found[low] = f"{found[low]}\n{text}" if low in found else text
            else:
                found[low] = self._known.get(value, value)
        return found

    def sent(self, call: WebCall) -> WebCall:
        """The call with the values of this run in place of placeholders."""
        if not self._real:
            return call
        headers = CIMultiDict(
            (name, self._with_real(value, str if name.lower() == "cookie" else unquote))
            for name, value in call.headers.items()
        )
        form = "urlencoded" in call.headers.get("content-type", "").lower()
        path, query = (self._with_real(text, _quoted) for text in (call.address.path, call.address.query))
        body = call.body.decode("latin-1")
        told = self._with_real(body, _quoted if form else unquote)
        return replace(
            call,
            address=replace(call.address, path=path, query=query),
            headers=headers,
            body=call.body if told == body else told.encode("latin-1", "replace"),
        )

    def _with_real(self, text: str, form: Callable[[str], str]) -> str:
        for given, real in self._real.items():
            if given in text:
                text = text.replace(given, form(real))
        return text


def _quoted(value: str) -> str:
    return quote(unquote(value), safe="")


def given(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Stored headers as the agent receives them, now."""
    pairs = ((name, line) for name, value in headers.items() for line in value.split("\n"))
    return CIMultiDict((name, _EXPIRES.sub(_absolute, line) if name == "set-cookie" else line) for name, line in pairs)


def _is_deleted(cookie: str) -> bool:
    age, expires = _MAX_AGE.search(cookie), _EXPIRES.search(cookie)
    if age is not None:
        return int(age[1]) <= 0
    seconds = None if expires is None else _seconds_until(expires[2])
    return seconds is not None and seconds <= 0


def _seconds_until(date: str) -> int | None:
    try:
        until = parsedate_to_datetime(date.strip().replace("-", " "))
    except ValueError:
        return None
    return round((until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _relative(found: re.Match[str]) -> str:
    """How long the cookie is valid from now on: a replay is later than its recording."""
    seconds = _seconds_until(found[2])
    return found[0] if seconds is None or seconds <= 0 else f"{found[1]}+{round(seconds, -1)}"


def _absolute(found: re.Match[str]) -> str:
    if not found[2].startswith("+"):
        return found[0]
    until = datetime.now(UTC) + timedelta(seconds=int(found[2]))
    return f"{found[1]}{format_datetime(until, usegmt=True)}"


# Answers of hosts outside of the run: their outage makes the trial inconclusive instead of reaching the agent.


class ExternalHosts:
    """Passes requests on to `inner`, and notes outages of external hosts."""

    def __init__(self, inner: WebSource, outages: Outages) -> None:
        self._inner = inner
        self._outages = outages

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        answer = await self._inner.answer(call, sink)
        if call.host.tool in self._outages.external and isinstance(answer, ToolAnswer):
            origin = call.address.place.origin
            address = None if call.host.base_url is not None else origin
            await self._outages.note(call.host.tool, f"{call.method} {origin}", answer, address)
        return answer


def host_source(trial: TrialContext) -> WebSource:
    """The source of the answers of the suite's hosts."""
    player = trial.player("http")
    issued = Issued(redactor=trial.redactor)
    if player is not None:
        return ReplayWeb(player, issued)
    run = trial.run
    live: WebSource = LiveWeb(run.client, trial.reached, run.limiter, trial.tier, trial.redactor, trial.waits)
    given = [text for agent in run.suite.agents.values() for text in agent.env.values()]
    keys = {name: value for name, value in run.secrets.items() if any(f"${{{name}}}" in text for text in given)}
    live = WithSecrets(live, keys) if keys else live
    if trial.tier != "sealed":
        live = ExternalHosts(live, Outages(trial))
    recorder = trial.recording(HostCodec(issued=issued))
    return live if recorder is None else RecordingWeb(live, recorder, issued)


@dataclass(frozen=True)
class WithSecrets:
    """Puts the values of secrets into the requests of an agent, which has only placeholders for them."""

    inner: WebSource
    secrets: Mapping[str, str]
    """Those that the suite gives to its agents, and no other."""

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        kind = call.headers.get("content-type", "").lower()
        form = _quoted_whole if "urlencoded" in kind else _in_json if "json" in kind else str
        path, query = (self._told(text, _quoted_whole) for text in (call.address.path, call.address.query))
        sent = replace(
            call,
            address=replace(call.address, path=path, query=query),
            headers=CIMultiDict((name, self._header(value)) for name, value in call.headers.items()),
            body=self._told(call.body.decode("latin-1"), form).encode("latin-1", "replace"),
        )
        return await self.inner.answer(sent, sink)

    def _told(self, text: str, form: Callable[[str], str] = str) -> str:
        return _STANDS_FOR.sub(lambda one: form(self.secrets[one[1]]) if one[1] in self.secrets else one[0], text)

    def _header(self, value: str) -> str:
        kind, _, coded = value.partition(" ")
        if kind.lower() != "basic":
            return self._told(value)
        try:
            plain = b64decode(coded).decode()
        except ValueError:
            return value
        return f"{kind} {b64encode(self._told(plain).encode()).decode()}"


_STANDS_FOR: Final = re.compile(stands_for("([A-Za-z_][A-Za-z0-9_]*)"))
_quoted_whole: Final = partial(quote, safe="")


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


@dataclass(frozen=True)
class ReplayWeb:
    """Plays one trial's cassette; reaches no host."""

    player: Player
    issued: Issued

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        answer = replayed(self.player, call.key)
        if isinstance(answer, ToolAnswer) and answer.status:
            headers = _with_length(call, answer)
            self.issued.receive(headers, REPLAYED)
            await sink.begin(answer.status, headers)
            await sink.write(answer.body)
        return answer


@dataclass(kw_only=True)
class _BufferSink:
    """Buffers the answer, because it may be changed before the agent receives it."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.status, self.headers = status, headers

    async def write(self, piece: bytes) -> None:
        del piece  # the answer contains the body already


@dataclass(frozen=True)
class _IssuingSink:
    """Learns what an answer issues before the agent receives it."""

    inner: Sink
    issued: Issued
    place: tuple[object, ...]

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.issued.receive(headers, self.place)
        await self.inner.begin(status, headers)

    async def write(self, piece: bytes) -> None:
        await self.inner.write(piece)


@dataclass(frozen=True)
class RecordingWeb:
    """Records the answers of another source."""

    inner: WebSource
    recorder: Recorder[WebCall]
    issued: Issued

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        async def ask(sent: WebCall, held_back: bool) -> ToolAnswer | ToolMiss:
            position = self.recorder.trial_recording.position(call.key)
            place = (call.key.key, position.state, position.occurrence)
            watched = _IssuingSink(_BufferSink() if held_back else sink, self.issued, place)
            return await self.inner.answer(self.issued.sent(sent), watched)

        answer, held_back = await self.recorder.record(call, ask)
        assert answer is not None  # a request to a host always has an answer
        if held_back and isinstance(answer, ToolAnswer):
            await _give(call, answer, sink)
        return answer


@dataclass(frozen=True, kw_only=True)
class HostCodec(Codec[WebCall]):
    """How requests to hosts are recorded."""

    issued: Issued
    kind: Kind = "http"
    streams: bool = True

    @override
    def sent(self, request: WebCall, normalisation: Normalisation) -> WebCall:
        sent, address = normalisation.sent_text, request.address
        path, query = sent(address.path), "&".join(_sent_pair(pair, sent) for pair in address.query.split("&"))
        headers = CIMultiDict((name, sent(value)) for name, value in request.headers.items())
        return replace(
            request,
            address=replace(address, path=path, query=query),
            headers=headers,
            body=normalisation.sent_body(request.body),
        )

    @override
    def headers(self, request: WebCall, answer: ToolAnswer) -> Mapping[str, str]:
        stored = self.issued.stored(answer.headers)
        return (
            stored if request.method == "HEAD" else {name: stored[name] for name in stored if name != "content-length"}
        )

    @override
    def key(self, request: WebCall, answer: ToolAnswer) -> CallKey:
        return varied(request.key, vary_names(answer.headers.get("vary", ""), request.host.ignore))


def _sent_pair(pair: str, sent: Callable[[str], str]) -> str:
    name, equals, value = pair.partition("=")
    return f"{name}{equals}{sent(value)}"


async def _give(call: WebCall, answer: ToolAnswer, sink: Sink) -> None:
    """Sends the buffered answer; nothing if the host has not started to answer."""
    if answer.status:
        headers = given(answer.headers)
        headers.pop("content-length", None)
        if call.method != "HEAD" and answer.status not in {204, 304} and answer.outcome == "answer":
            headers["content-length"] = str(len(answer.body))
        await sink.begin(answer.status, headers)
        await sink.write(answer.body)


def _with_length(call: WebCall, answer: ToolAnswer) -> Mapping[str, str]:
    """The length of the recorded body: without its secrets a body has a different length from the host's."""
    headers = given(answer.headers)
    whole = answer.outcome == "answer" and answer.status not in {204, 304} and call.method != "HEAD"
    if not whole or headers.get("content-type", "").startswith("text/event-stream"):
        return headers
    headers["content-length"] = str(len(answer.body))
    return headers


CA_FILE = "ca.pem"


@dataclass(frozen=True, kw_only=True)
class TrialProxy:
    """The forward proxy of one trial, its certificate authority, and the settings for the sandbox."""

    proxy: ForwardProxy | None
    """The agent's proxy; None: no host is declared for the agent itself."""
    pages: ForwardProxy
    """The proxy of the trial's browser, which serves every host."""
    authority: Authority
    outside: ProxiedHosts | None


class RunHosts:
    """The suite's hosts in one tool mode."""

    def __init__(self, suite: Suite, mode: ToolMode) -> None:
        self._suite = suite
        self._mode = mode
        self._authority = Authority()

    def trial_proxy(self, trial: TrialContext, folder: Path) -> TrialProxy:
        """Writes the certificate to trust to `folder`, which is mounted into the sandbox."""
        hosts = self._suite.hosts
        exchange, source, protected = trial.exchange, host_source(trial), self._protected()
        allowed = allowed_hosts(self._suite, trial.case).__contains__
        handler = WebHandler(exchange=exchange, source=source, allowed=allowed, refuses_writes=protected)
        pages = PageHandler(exchange=exchange, source=source, allowed=lambda _: True, refuses_writes=protected)
        return TrialProxy(
            proxy=ForwardProxy(hosts, handler, trial.redactor) if hosts else None,
            pages=ForwardProxy(hosts, pages, trial.redactor),
            authority=self._authority,
            outside=self._proxied_hosts(folder, hosts) if hosts else None,
        )

    def _proxied_hosts(self, folder: Path, hosts: Sequence[HostSpec]) -> ProxiedHosts:
        certificate = folder / CA_FILE
        certificate.write_bytes(self._authority.certificate)
        certificate.chmod(0o644)
        ports = sorted({port for host in hosts for port in host.ports})
        return ProxiedHosts(names=tuple(host.host for host in hosts), ports=tuple(ports), certificate=certificate)

    def _protected(self) -> frozenset[str]:
        if self._mode == "replay":
            return frozenset()
        return frozenset(host.tool for host in self._suite.hosts if host.service is None and not host.disposable)
