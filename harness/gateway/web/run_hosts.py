"""The hosts of a suite: what all trials of a run share, and the handler of each trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.case import HostSpec, Suite, ToolMode
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.web.allowed_hosts import allowed_hosts
from harness.gateway.web.authority import Authority
from harness.gateway.web.forward_proxy import ForwardProxy
from harness.gateway.web.handler import WebHandler
from harness.gateway.web.pages import PageHandler
from harness.gateway.web.sources import host_source
from harness.sandbox import ProxiedHosts

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
            outside=self._outside(folder, hosts) if hosts else None,
        )

    def _outside(self, folder: Path, hosts: Sequence[HostSpec]) -> ProxiedHosts:
        certificate = folder / CA_FILE
        certificate.write_bytes(self._authority.certificate)
        certificate.chmod(0o644)
        ports = sorted({port for host in hosts for port in host.ports})
        return ProxiedHosts(names=tuple(host.host for host in hosts), ports=tuple(ports), certificate=certificate)

    def _protected(self) -> frozenset[str]:
        if self._mode == "replay":
            return frozenset()
        return frozenset(host.tool for host in self._suite.hosts if host.service is None and not host.disposable)
