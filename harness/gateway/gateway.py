"""The gateway of a run: one thread that serves the sockets of all trials.

Everything that touches the network runs on that thread's event loop; the public methods can be called from any thread.
"""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import aiohttp

from harness.cassettes.cassette import Cassette, cassette_path, open_cassette, refuse_secrets
from harness.cassettes.journals import recover_journals
from harness.cassettes.keys import StateChain
from harness.cassettes.redaction import Redactor
from harness.errors import GatewayError, UsageError
from harness.gateway.agent_spans import TracesHandler
from harness.gateway.bodies import RouteHandler, keep_no_large_blocks
from harness.gateway.budgets import Budget, RateLimiter, TrialLimiter, Waiting
from harness.gateway.contract import SHARED, ServiceOpener, SessionRequest
from harness.gateway.injections import FaultySource, FixtureSource, packs_of
from harness.gateway.interventions import calls_of
from harness.gateway.ledger import Ledger
from harness.gateway.listener import allow_descriptors
from harness.gateway.mcp_endpoint import McpHandler
from harness.gateway.probes import TrialProbes, probe_client
from harness.gateway.routes import RouteContext
from harness.gateway.session import SessionParts, TrialSession
from harness.gateway.suite_tools import api_source, suite_tools
from harness.gateway.toolbox import Toolbox
from harness.gateway.trial import JournalKeeper, RunUpstream, TrialContext
from harness.gateway.trial_tools import TrialSources
from harness.gateway.upstream.http_tools import Resets, ToolUpstream
from harness.gateway.upstream.tool_servers import check_servers, needs_services, share_services, upstreams
from harness.gateway.upstream.transport import LoopThread, TrialThreads, open_client
from harness.gateway.user import User, UserContext, UserSource
from harness.sandbox.ownership import temporary_folder
from harness.suite.cases import Case
from harness.suite.checks import needs_browser
from harness.suite.models import ModelMode, ToolMode
from harness.suite.suites import Suite, state_names
from harness.traces.recorder import TraceRecorder, TraceSubject, TrialProgress, Volume
from harness.traces.tracer import Tracing

if TYPE_CHECKING:
    from harness.gateway.model_handler import RunModels
    from harness.gateway.run_hosts import RunHosts


class GatewayOptions(TypedDict, total=False):
    """Every option has a default."""

    secrets: Mapping[str, str]
    """Secret name -> value: never stored, and filled into the servers' headers."""
    services: ServiceOpener | None
    tracing: Tracing | None
    """The tracer provider of the trials and its additional span processors; None stores spans without
    exporting them.
    """
    refresh: bool
    """In `record` mode, an answer that differs replaces the recorded one."""
    volatile: Mapping[str, Sequence[str]]
    """In `record` mode, tool -> JSON pointers to values that were observed to change by themselves, in addition to what
    the suite declares.
    """
    live_cassettes: Path | None
    """The folder for answers of `live` tools, with one cassette per trial; None: they are not stored."""
    model_mode: ModelMode | None
    """None selects the suite's setting."""
    budget: Budget | None
    """The run's budget."""
    users: UserSource | None
    """Opens the users of the trials; None: the scripts of the cases."""
    volume: Callable[[], Volume]
    """Makes the limits of what a trial asks for and has written."""
    limiter: RateLimiter
    """Enforces the rate limits of live calls, also over other gateways with the same limiter."""


def run_models(suite: Suite, mode: ModelMode | None, secrets: Mapping[str, str]) -> "RunModels | None":
    """None: the suite has no model. Raises UsageError if the key of a provider is missing."""
    if suite.model is None:
        return None
    from harness.gateway.model_handler import RunModels

    return RunModels(suite.model, mode or suite.model.mode, secrets)


def run_hosts(suite: Suite, mode: ToolMode) -> "RunHosts | None":
    """None: the suite declares no host; their certificates need a library that takes a tenth of a second to import."""
    if not suite.hosts:
        return None
    from harness.gateway.run_hosts import RunHosts

    return RunHosts(suite, mode)


class RunCassettes:
    """Safe to use from many threads."""

    def __init__(self, folder: Path, suite: str, secrets: Mapping[str, str], *, grow: bool) -> None:
        """`grow`: the run records, so that each trial of a case uses the recordings of the one before."""
        self._folder = folder
        self._suite = suite
        self._secrets = secrets
        self._grow = grow
        self._loaded: dict[str, Cassette] = {}
        self._lock = threading.Lock()

    def of(self, case_id: str) -> Cassette:
        """The case's cassette; empty if the case has none. Raises CassetteError, also for a secret in it."""
        with self._lock:
            if case_id not in self._loaded or self._grow:
                path = cassette_path(self._folder, self._suite, case_id)
                cassette = open_cassette(path) if path.exists() else Cassette()
                refuse_secrets(path, cassette.recordings, Redactor(dict(self._secrets)))
                self._loaded[case_id] = cassette
            return self._loaded[case_id]


_SOCKET = "gateway.sock"


class Gateway:
    """Serves the trials of one suite in one tool mode. A context manager: nothing runs before it is entered."""

    def __init__(self, suite: Suite, mode: ToolMode, *, cassettes: Path, **options: Unpack[GatewayOptions]) -> None:
        """Raises UsageError for a tool, probe or server that cannot work in this mode."""
        self._suite = suite
        self._mode = mode
        self._cassettes = cassettes
        self._secrets = dict(options.get("secrets", {}))
        self._services = options.get("services")
        self._volatile = options.get("volatile", {})
        self._tracing = options.get("tracing")
        self._users = options.get("users")
        self._toolbox = Toolbox(suite)
        self._limiter = options.get("limiter") or RateLimiter()
        self._volume = options.get("volume", Volume)
        self.waiting = Waiting()
        self._answered: set[str] = set()
        self._resets = Resets(suite)
        self._web = run_hosts(suite, mode)
        self._budget = options.get("budget")
        self._models = run_models(suite, options.get("model_mode"), self._secrets)
        self._journals = JournalKeeper(
            suite=suite.name,
            cassettes=cassettes,
            records_tools=mode == "record",
            records_models=self._models is not None and self._models.mode == "record",
            refresh=options.get("refresh", False),
            live=options.get("live_cassettes") if mode == "live" else None,
        )
        check_servers(suite, mode, self._secrets)
        Redactor(self._secrets)  # rejects a secret that cannot be distinguished from text, before the run starts
        if needs_services(suite, mode) and self._services is None:
            raise UsageError(
                f"the tools of suite {suite.name!r} run as services, but no way to start services was given",
                remedy="run with tools replayed, or declare an environment with the services",
            )
        self._recorded = RunCassettes(cassettes, suite.name, self._secrets, grow=self._journals.records_tools)
        self._lock = threading.Lock()
        self._sessions: list[TrialSession] = []
        self._shared: Mapping[str, str] | None = None
        self._thread = LoopThread()
        self._client: aiohttp.ClientSession | None = None
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        allow_descriptors()
        keep_no_large_blocks()
        with ExitStack() as stack:
            if self._journals.records_tools or self._journals.records_models:
                recover_journals(self._cassettes, self._suite.name, Redactor(self._secrets))
            self._thread.start(stack)
            client = self._client = self._thread.wait_for(open_client())
            stack.callback(lambda: self._thread.wait_for(client.close()))
            users = self._users
            if users is not None:
                stack.callback(lambda: self._thread.wait_for(users.close()))
            opener = self._services if share_services(self._suite, self._mode) else None
            if opener is not None and needs_services(self._suite, self._mode):
                self._shared = stack.enter_context(opener.open(SHARED))
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._closing:
            with self._lock:
                sessions, self._sessions = self._sessions, []
            for session in sessions:
                self._closing.callback(session.close)

    def open(self, request: SessionRequest) -> TrialSession:
        """Opens a listening session for one trial. Raises CassetteError, ServiceError or UsageError."""
        if not self._thread.is_running:
            raise GatewayError("the gateway is not running", remedy="enter it: `with Gateway(...) as gateway`")
        with ExitStack() as stack:
            parts = self._session_parts(request, stack)
            stack.pop_all()
        try:
            session = TrialSession(parts)
        except BaseException:
            parts.trial.closing.close()
            raise
        with self._lock:
            self._sessions.append(session)
        parts.trial.closing.callback(self._forget, session)
        return session

    def in_flight(self) -> tuple[TrialProgress, ...]:
        """How far each trial with an open session is; may be asked for from any thread."""
        with self._lock:
            return tuple(session.progress for session in self._sessions)

    def clean(self, text: str) -> str:
        """`text` without the suite's secrets, for stored texts of a trial whose session is closed."""
        return Redactor(self._secrets).everywhere(text)

    def _forget(self, session: TrialSession) -> None:
        with self._lock:
            if session in self._sessions:
                self._sessions.remove(session)

    def _session_parts(self, request: SessionRequest, stack: ExitStack) -> SessionParts:
        trial = self._trial(request, stack.enter_context(ExitStack()))
        socket = _new_socket(trial.closing)
        trial_sources = TrialSources(trial.threads)
        packs, source = packs_of(self._suite, trial.case), trial_sources.before(self._suite, suite_tools(trial))
        source = FixtureSource(source, packs) if packs else source
        overlay = FaultySource(source, trial.case.faults)
        toolbox = self._toolbox.described({} if request.variant is None else request.variant.descriptions)
        calls = calls_of(toolbox, trial, overlay if trial.case.faults else source)
        offered = toolbox.offered(trial.case)
        route_handlers: list[RouteHandler] = [
            McpHandler(calls),
            TracesHandler(trial.recorder, trial.redactor, trial.exchange.large, trial.ledger.volume),
        ]
        if self._models is not None:
            route_handlers.append(self._models.handler(trial))
        return SessionParts(
            trial=trial,
            socket=socket,
            context=RouteContext(
                trial=trial,
                listing=toolbox.listing(offered),
                calls=calls,
                route_handlers=tuple(route_handlers),
                user=self._user(trial),
            ),
            user_may_wait=self._users is not None and self._users.may_wait(trial.case),
            world=TrialProbes(trial, None if self._mode == "replay" else probe_client(trial, api_source(trial))),
            soon=self._thread.soon,
            web=None if self._web is None else self._web.trial_proxy(trial, socket.parent),
            overlay=overlay,
            trial_sources=trial_sources,
            pages_socket=_new_socket(trial.closing) if needs_browser(self._suite) else None,
        )

    def _trial(self, request: SessionRequest, closing: ExitStack) -> TrialContext:
        assert self._client is not None  # the gateway runs
        subject = TraceSubject(
            trial_id=request.trial_id,
            case_id=request.case.id,
            attempt=request.attempt,
            agent=request.agent,
            version=request.version,
        )
        threads = TrialThreads()
        closing.callback(threads.close)
        redactor, volume = Redactor(self._secrets), self._volume()
        journals = self._journals.open(request, redactor, closing, volume)
        services, reached = self._services_and_addresses(request, closing)
        return TrialContext(
            request=request,
            mode=self._mode,
            run=RunUpstream(
                suite=self._suite,
                client=self._client,
                limiter=TrialLimiter(self._limiter),
                answered=self._answered,
                secrets=self._secrets,
            ),
            reached=reached,
            services=services,
            waits=partial(self.waiting.answer, request.trial_id),
            redactor=redactor,
            recorder=TraceRecorder(subject, self._tracing, volume),
            ledger=self._ledger(request.case, volume),
            journals=journals,
            refresh=self._journals.refresh,
            volatile=self._volatile,
            cassette=partial(self._recorded.of, request.case.id),
            chain=StateChain(state_names(self._suite)),
            closing=closing,
            wait_for=self._thread.wait_for,
            threads=threads,
        )

    def _user(self, trial: TrialContext) -> User | None:
        if self._users is None:
            return None
        return self._users.open(
            UserContext(
                trial_id=trial.request.trial_id,
                case=trial.case,
                attempt=trial.request.attempt,
                miss=trial.ledger.keep_miss,
                waits=trial.waits,
                closing=trial.closing,
            )
        )

    def _ledger(self, case: Case, volume: Volume) -> Ledger:
        limits, budget = case.limits, self._budget
        # A budget of one tool limits external services; a budget of all requests counts the suite's own services too.
        metered = {"live", "record"} if budget is None or budget.requests is None else {"live", "record", "sealed"}
        return Ledger(
            doubles=self._suite.doubles,
            volume=volume,
            steps=limits.steps,
            tokens=limits.tokens,
            cost_usd=limits.cost_usd,
            tool_budget=budget if self._mode in metered else None,
            model_budget=budget if self._models is not None and self._models.mode != "replay" else None,
        )

    def _services_and_addresses(
        self, request: SessionRequest, closing: ExitStack
    ) -> tuple[Mapping[str, str], Mapping[str, ToolUpstream]]:
        """The started services, and the base URL of every server and host for this trial, after their resets."""
        assert self._client is not None
        services = self._opened_services(request, closing)
        # A retried trial has the same id, and must not find the data that the first attempt has left on the service.
        session_id = f"{request.trial_id}.{secrets.token_hex(4)}"
        reached = upstreams(self._suite, services, self._secrets, session_id) if self._mode != "replay" else {}
        if self._mode in ("live", "record"):
            self._resets.before_trial(reached, self._client, self._thread.wait_for, closing)
        return services, reached

    def _opened_services(self, request: SessionRequest, closing: ExitStack) -> Mapping[str, str]:
        own = request.case.snapshot
        if self._shared is not None and own is None:
            return self._shared
        if self._services is None or not needs_services(self._suite, self._mode):
            return {}
        return closing.enter_context(self._services.open(request.trial_id, own))


def _new_socket(closing: ExitStack) -> Path:
    """The path of a trial's socket: in a folder of its own, because a sandbox mounts the folder."""
    return closing.enter_context(temporary_folder()) / _SOCKET
