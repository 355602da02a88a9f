"""The hosts of a suite: what all trials of a run share, and the handler of each trial."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from multidict import CIMultiDict

from harness.cassettes.keys import CallKey, varied
from harness.cassettes.normalisation import Normalisation
from harness.cassettes.player import Player
from harness.cassettes.recordings import Mark, Outcome
from harness.cassettes.trial_recording import CallPosition
from harness.gateway.exchange import replayed
from harness.gateway.forward_proxy import ForwardProxy, PageHandler, WebHandler
from harness.gateway.recording import Recorder
from harness.gateway.sniffer import Authority
from harness.gateway.suite_tools import Outages
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.host_calls import Sink, WebCall, WebSource
from harness.gateway.upstream.issued import REPLAYED, Issued, given
from harness.gateway.upstream.live_hosts import LiveWeb
from harness.gateway.upstream.request_parts import vary_names
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.sandbox.provider import ProxiedHosts
from harness.suite.hosts import HostSpec
from harness.suite.models import ToolMode
from harness.suite.suites import Suite, allowed_hosts

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
    if trial.tier != "sealed":
        live = ExternalHosts(live, Outages(trial))
    recorder = trial.recording(HostCodec(issued))
    return live if recorder is None else RecordingWeb(live, recorder, issued)


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


@dataclass(frozen=True)
class HostCodec:
    """How requests to hosts are recorded."""

    issued: Issued
    streams: bool = True

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

    def mark(self, position: CallPosition, outcome: Outcome, answer: ToolAnswer) -> Mark:
        # The chunk distinguishes an incomplete answer from one that never started.
        chunks = ((0, len(answer.body)),) if outcome != "answer" and answer.status else ()
        return position.mark("http", outcome, chunks)

    def headers(self, request: WebCall, answer: ToolAnswer) -> Mapping[str, str]:
        stored = self.issued.stored(answer.headers)
        return (
            stored if request.method == "HEAD" else {name: stored[name] for name in stored if name != "content-length"}
        )

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
        hosts = tuple(host for host in self._suite.hosts if not host.only_browser)
        exchange, source, protected = trial.exchange, host_source(trial), self._protected()
        allowed = allowed_hosts(self._suite, trial.case).__contains__
        handler = WebHandler(exchange=exchange, source=source, allowed=allowed, refuses_writes=protected)
        pages = PageHandler(exchange=exchange, source=source, allowed=lambda _: True, refuses_writes=protected)
        return TrialProxy(
            proxy=ForwardProxy(hosts, handler, trial.redactor) if hosts else None,
            pages=ForwardProxy(self._suite.hosts, pages, trial.redactor),
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
