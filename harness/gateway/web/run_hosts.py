"""The hosts of a suite: what all trials of a run share, and the handler of each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import aiohttp

from harness.case import Case, HostSpec, Suite, ToolMode
from harness.cassette import Normalisation, Player, Redactor, TrialRecording
from harness.gateway.ledger import Ledger
from harness.gateway.web.external import ExternalHosts
from harness.gateway.web.forward_proxy import ForwardProxy
from harness.gateway.web.handler import WebAccount, WebHandler
from harness.gateway.web.pages import PageHandler
from harness.gateway.web.sources import RecordingWeb, ReplayWeb
from harness.sandbox import ProxiedHosts
from harness.trace import TraceRecorder
from harness.upstream import LiveWeb, RateLimiter, Reachability, ToolUpstream, Waits, WebSource, external_servers

if TYPE_CHECKING:
    from harness.gateway.web.authority import Authority


CA_FILE = "ca.pem"


@dataclass(frozen=True, kw_only=True)
class WebTrial:
    """What a handler gets of its trial; `player` None: not replayed, `trial_recording` None: not recorded."""

    case: Case
    player: Player | None
    trial_recording: TrialRecording | None
    normalisation: Normalisation | None
    reached: Mapping[str, ToolUpstream]
    recorder: TraceRecorder
    redactor: Redactor
    ledger: Ledger
    under_way: set[asyncio.Task[object]]
    waits: Waits
    reach: Reachability


@dataclass(frozen=True, kw_only=True)
class TrialProxy:
    """The forward proxy of one trial, its certificate authority, and the settings for the sandbox."""

    proxy: ForwardProxy | None
    """The agent's; None: no host is for the agent itself."""
    pages: ForwardProxy
    """The trial's browser's: every host is."""
    authority: "Authority"
    outside: ProxiedHosts | None


class RunHosts:
    """The suite's hosts in one mode."""

    def __init__(self, suite: Suite, mode: ToolMode, limiter: RateLimiter) -> None:
        # Cryptography takes a tenth of a second to import, and most suites declare no host.
        from harness.gateway.web.authority import Authority

        self._suite = suite
        self._mode = mode
        self._tier: Literal["live", "sealed"] = "sealed" if mode == "sealed" else "live"
        self._limiter = limiter
        self._authority = Authority()

    def trial_proxy(self, client: aiohttp.ClientSession, folder: Path, trial: WebTrial) -> TrialProxy:
        """The certificate to trust is written to `folder`, which the sandbox sees."""
        hosts = tuple(host for host in self._suite.hosts if not host.only_browser)
        source = self._source(client, trial)
        handler = WebHandler(
            account=_account(trial),
            source=source,
            allowed=allowed_hosts(self._suite, trial.case).__contains__,
            refuses_writes=self._protected(),
        )
        pages = PageHandler(
            account=_account(trial), source=source, allowed=lambda _: True, refuses_writes=self._protected()
        )
        return TrialProxy(
            proxy=ForwardProxy(hosts, handler, trial.redactor) if hosts else None,
            pages=ForwardProxy(self._suite.hosts, pages, trial.redactor),
            authority=self._authority,
            outside=self._outside(folder, hosts) if hosts else None,
        )

    def _outside(self, folder: Path, hosts: Sequence[HostSpec]) -> ProxiedHosts:
        certificate = folder / CA_FILE
        certificate.write_bytes(self._authority.certificate)
        certificate.chmod(0o644)
        ports = sorted({port for host in hosts for port in host.ports})
        return ProxiedHosts(names=tuple(host.host for host in hosts), ports=tuple(ports), certificate=certificate)

    def _source(self, client: aiohttp.ClientSession, trial: WebTrial) -> WebSource:
        if trial.player is not None:
            return ReplayWeb(trial.player)
        live: WebSource = LiveWeb(client, trial.reached, self._limiter, self._tier, trial.redactor, trial.waits)
        live = live if self._tier == "sealed" else ExternalHosts(live, external_servers(self._suite), trial.reach)
        return (
            live
            if trial.trial_recording is None
            else RecordingWeb(live, trial.trial_recording, trial.redactor, trial.normalisation)
        )

    def _protected(self) -> frozenset[str]:
        if self._mode == "replay":
            return frozenset()
        return frozenset(host.tool for host in self._suite.hosts if host.service is None and not host.disposable)


def _account(trial: WebTrial) -> WebAccount:
    return WebAccount(ledger=trial.ledger, recorder=trial.recorder, redactor=trial.redactor, under_way=trial.under_way)


def allowed_hosts(suite: Suite, case: Case) -> frozenset[str]:
    """As with tools: a case that lists what is allowed names its hosts too; a forbidden one can be reached."""
    declared = frozenset(host.tool for host in suite.hosts)
    return declared if case.tools is None else declared & {*case.tools, *case.forbidden_tools}
