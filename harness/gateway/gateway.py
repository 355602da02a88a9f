"""The gateway of a run: one thread that serves the sockets of all trials.

Everything that touches the network runs on that thread's event loop; the public methods can be called from any thread.
"""

import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

import aiohttp

from harness.case import Case, Suite, ToolMode, needs_browser, state_names
from harness.cassette import (
    Redactor,
    StateChain,
    recover_journals,
)
from harness.errors import GatewayError, UsageError
from harness.gateway.accepting import allow_descriptors
from harness.gateway.allocator import keep_no_large_blocks
from harness.gateway.contract import SHARED, SessionRequest
from harness.gateway.exchange.large_work import THREADS
from harness.gateway.exchange.trial import RunUpstream, TrialContext
from harness.gateway.incoming import RouteHandler
from harness.gateway.journals import JournalKeeper
from harness.gateway.ledger import Ledger
from harness.gateway.mcp.endpoint import McpHandler
from harness.gateway.model.traces import TracesHandler
from harness.gateway.openapi import OpenApiHandler
from harness.gateway.optional_parts import run_hosts, run_models
from harness.gateway.options import GatewayOptions
from harness.gateway.overlay.faults import FaultySource
from harness.gateway.overlay.fixtures import FixtureSource, packs_of
from harness.gateway.overlay.interventions import calls_of
from harness.gateway.probes import TrialProbes, probe_client
from harness.gateway.routes import RouteContext
from harness.gateway.run_cassettes import RunCassettes
from harness.gateway.session import SessionParts, TrialSession
from harness.gateway.sources.suite_tools import api_source, suite_tools
from harness.gateway.sources.trial_sources import TrialSources
from harness.gateway.toolbox import Toolbox
from harness.gateway.user import User, UserContext
from harness.sandbox import temporary_folder
from harness.trace import TraceRecorder, TraceSubject, TrialProgress
from harness.upstream import (
    LoopThread,
    RateLimiter,
    Reachability,
    Resets,
    ToolUpstream,
    Waiting,
    check_servers,
    needs_services,
    open_client,
    share_services,
    upstreams,
)

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
        self._lenient, self._volatile = options.get("lenient", False), options.get("volatile", {})
        self._tracing = options.get("tracing")
        self._users = options.get("users")
        self._toolbox = Toolbox(suite)
        self._limiter = options.get("limiter") or RateLimiter()
        self.waiting = Waiting()
        self._reachability = Reachability()
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
        self._thread, self._threads = LoopThread(), ThreadPoolExecutor(THREADS, "harness-gateway-large")
        self._client: aiohttp.ClientSession | None = None
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        allow_descriptors()
        keep_no_large_blocks()
        with ExitStack() as stack:
            if self._journals.records_tools or self._journals.records_models:
                recover_journals(self._cassettes, self._suite.name, Redactor(self._secrets))
            stack.callback(self._threads.shutdown, wait=False, cancel_futures=True)
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            parts = self._parts(request, stack)
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

    def _parts(self, request: SessionRequest, stack: ExitStack) -> SessionParts:
        trial = self._trial(request, stack.enter_context(ExitStack()))
        socket = _new_socket(trial.closing)
        trial_sources = TrialSources()
        source = FixtureSource(trial_sources.before(self._suite, suite_tools(trial)), packs_of(self._suite, trial.case))
        overlay = FaultySource(source, trial.case.faults)
        toolbox = self._toolbox.described({} if request.variant is None else request.variant.descriptions)
        calls = calls_of(toolbox, trial, overlay)
        offered = toolbox.offered(trial.case)
        route_handlers: list[RouteHandler] = [
            OpenApiHandler(toolbox, offered),
            McpHandler(calls),
            TracesHandler(trial.recorder, trial.redactor, trial.exchange.large),
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
        redactor = Redactor(self._secrets)
        journals = self._journals.open(request, redactor, closing)
        services, reached = self._outside(request, closing)
        return TrialContext(
            request=request,
            mode=self._mode,
            run=RunUpstream(
                suite=self._suite,
                client=self._client,
                limiter=self._limiter,
                reachability=self._reachability,
                secrets=self._secrets,
            ),
            reached=reached,
            services=services,
            waits=partial(self.waiting.answer, request.trial_id),
            redactor=redactor,
            recorder=TraceRecorder(subject, self._tracing),
            ledger=self._ledger(request.case),
            journals=journals,
            refresh=self._journals.refresh,
            volatile=self._volatile,
            lenient=self._lenient,
            cassette=partial(self._recorded.of, request.case.id),
            chain=StateChain(state_names(self._suite)),
            closing=closing,
            wait_for=self._thread.wait_for,
            threads=self._threads,
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

    def _ledger(self, case: Case) -> Ledger:
        limits, budget = case.limits, self._budget
        # A budget of one tool limits external services; a budget of all requests counts the suite's own services too.
        metered = {"live", "record"} if budget is None or budget.requests is None else {"live", "record", "sealed"}
        return Ledger(
            doubles=self._suite.doubles,
            steps=limits.steps,
            tokens=limits.tokens,
            cost_usd=limits.cost_usd,
            tool_budget=budget if self._mode in metered else None,
            model_budget=budget if self._models is not None and self._models.mode != "replay" else None,
        )

    def _outside(
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
