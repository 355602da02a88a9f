"""The gateway of a run: one thread that serves the sockets of all trials.

Everything that touches the network runs on that thread's event loop; the public methods can be called from any thread.
"""

import secrets
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

import aiohttp

from harness.case import Case, Suite, ToolMode, needs_browser, state_names
from harness.cassette import (
    Cassette,
    Redactor,
    StateChain,
    TrialRecording,
    cassette_path,
    open_cassette,
    recover_journals,
    refuse_secrets,
)
from harness.errors import GatewayError, UsageError
from harness.gateway.accepting import allow_descriptors
from harness.gateway.allocator import keep_no_large_blocks
from harness.gateway.answering import Answering
from harness.gateway.contract import SHARED, SessionRequest
from harness.gateway.incoming import RouteHandler
from harness.gateway.journals import JournalKeeper
from harness.gateway.ledger import Ledger
from harness.gateway.mcp.endpoint import McpHandler
from harness.gateway.model.run_models import ModelTrial, RunModels
from harness.gateway.model.traces import TracesHandler
from harness.gateway.openapi import OpenApiHandler
from harness.gateway.options import GatewayOptions
from harness.gateway.overlay.faults import FaultySource
from harness.gateway.overlay.fixtures import FixtureSource, packs_of
from harness.gateway.overlay.interventions import InterveningCalls
from harness.gateway.probes import TrialProbes, gateway_probes
from harness.gateway.routes import RouteContext
from harness.gateway.session import Session, SessionParts
from harness.gateway.sources.own import OwnSources
from harness.gateway.tool_calls import ToolCallHandler, ToolCallParts
from harness.gateway.toolbox import Toolbox
from harness.gateway.user import User, UserSeat
from harness.gateway.web.run_hosts import RunHosts, WebTrial
from harness.sandbox import temporary_folder
from harness.trace import TraceRecorder, TraceSubject
from harness.upstream import (
    LoopThread,
    RateLimiter,
    Reachability,
    Resets,
    Upstreams,
    Waiting,
    Waits,
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
        self._lenient = options.get("lenient", False)
        self._tracing = options.get("tracing")
        self._users = options.get("users")
        self._toolbox = Toolbox(suite)
        self._limiter = options.get("limiter") or RateLimiter()
        self.waiting = Waiting()
        self._reachability = Reachability()
        self._resets = Resets(suite)
        self._web = RunHosts(suite, mode, self._limiter) if suite.hosts else None
        self._budget = options.get("budget")
        model_mode = options.get("model_mode")
        self._models = (
            None
            if suite.model is None
            else RunModels(suite.model, model_mode or suite.model.mode, self._secrets, self._limiter)
        )
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
                f"the tools of suite {suite.name!r} are served by services, and nothing was given to start them",
                remedy="run with tools replayed, or declare an environment with the services",
            )
        self._loaded_cassettes: dict[str, Cassette] = {}
        self._lock = threading.Lock()
        self._sessions: list[Session] = []
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._closing:
            with self._lock:
                sessions, self._sessions = self._sessions, []
            for session in sessions:
                self._closing.callback(session.close)

    def open(self, request: SessionRequest) -> Session:
        """A session for one trial, listening. Raises CassetteError, ServiceError or UsageError."""
        if not self._thread.is_running:
            raise GatewayError("the gateway is not running", remedy="enter it: `with Gateway(...) as gateway`")
        with ExitStack() as stack:
            parts = self._parts(request, stack)
            stack.pop_all()
        try:
            session = Session(parts)
        except BaseException:
            parts.closing.close()
            raise
        with self._lock:
            self._sessions.append(session)
        parts.closing.callback(self._forget, session)
        return session

    def clean(self, text: str) -> str:
        """`text` without the suite's secrets, for stored texts of a trial that has no session any more."""
        return Redactor(self._secrets).everywhere(text)

    def _forget(self, session: Session) -> None:
        with self._lock:
            if session in self._sessions:
                self._sessions.remove(session)

    def _parts(self, request: SessionRequest, stack: ExitStack) -> SessionParts:
        closing = stack.enter_context(ExitStack())
        case, suite = request.case, self._suite
        offered = self._toolbox.offered(case)
        redactor = Redactor(self._secrets)
        recorder = TraceRecorder(
            TraceSubject(
                trial_id=request.trial_id,
                case_id=case.id,
                attempt=request.attempt,
                agent=request.agent,
                version=request.version,
            ),
            self._tracing,
        )
        socket = _new_socket(closing)
        journals = self._journals.open(request, redactor, closing)
        waits = partial(self.waiting.answer, request.trial_id)
        answering = self._answering(request, closing, waits)
        trial_recording = None
        if journals.tools is not None:
            trial_recording = TrialRecording(
                journal=journals.tools,
                chain=answering.chain,
                doubles=suite.doubles,
                keeps_failures=self._mode != "record",
            )
        normalisation = answering.normalisation(refresh=self._journals.refresh)
        source, players = answering.tools(redactor, trial_recording, normalisation, closing, self._thread.wait_for)
        own = OwnSources()
        source = own.before(suite, source)
        overlay = FaultySource(FixtureSource(source, packs_of(suite, case)), case.faults)
        parts = ToolCallParts(
            toolbox=self._toolbox, offered=offered, source=overlay, recorder=recorder, redactor=redactor
        )
        variant, ledger = request.variant, self._ledger(case)
        calls = ToolCallHandler(parts) if variant is None else InterveningCalls(parts, variant)
        route_handlers: list[RouteHandler] = [
            OpenApiHandler(self._toolbox, offered),
            McpHandler(calls, ledger),
            TracesHandler(recorder, redactor),
        ]
        if self._models is not None and self._client is not None:
            trial = ModelTrial(
                cassette=self._cassette(case).only("model") if self._models.mode == "replay" else None,
                journal=journals.models,
                recorder=recorder,
                redactor=redactor,
                ledger=ledger,
                under_way=calls.under_way,
                waits=waits,
                reach=self._reachability,
            )
            route_handlers.append(self._models.handler(self._client, trial))
        web = None
        if self._web is not None and self._client is not None:
            player = answering.player("http")
            web = self._web.trial_proxy(
                self._client,
                socket.parent,
                WebTrial(
                    case=case,
                    player=player,
                    trial_recording=trial_recording,
                    normalisation=normalisation,
                    reached=answering.reached,
                    recorder=recorder,
                    redactor=redactor,
                    ledger=ledger,
                    under_way=calls.under_way,
                    waits=waits,
                    reach=self._reachability,
                ),
            )
            players += () if player is None else (player,)
        world = TrialProbes(
            probes=gateway_probes((*suite.probes, *case.probes)),
            asking=answering.world(),
            player=answering.player("probe"),
            trial_recording=trial_recording if self._mode == "record" else None,
            recorder=recorder,
            redactor=redactor,
            ledger=ledger,
            tier=answering.tier,
        )
        return SessionParts(
            trial_id=request.trial_id,
            socket=socket,
            context=RouteContext(
                case=case,
                listing=self._toolbox.listing(offered),
                calls=calls,
                ledger=ledger,
                recorder=recorder,
                redactor=redactor,
                route_handlers=tuple(route_handlers),
                user=self._user(request, ledger, waits, closing),
            ),
            probes=tuple(probe for probe in (*suite.probes, *case.probes) if probe.tool is not None),
            world=world,
            services=answering.own_services,
            wait_for=self._thread.wait_for,
            soon=self._thread.soon,
            closing=closing,
            players=players,
            web=web,
            overlay=overlay,
            own=own,
            pages_socket=_new_socket(closing) if needs_browser(suite) else None,
            trial_recording=trial_recording,
            normalisation=normalisation,
            merge=journals.finish,
        )

    def _user(self, request: SessionRequest, ledger: Ledger, waits: Waits, closing: ExitStack) -> User | None:
        if self._users is None:
            return None
        return self._users.open(
            UserSeat(
                trial_id=request.trial_id,
                case=request.case,
                attempt=request.attempt,
                miss=ledger.keep_miss,
                waits=waits,
                closing=closing,
            )
        )

    def _ledger(self, case: Case) -> Ledger:
        limits, budget = case.limits, self._budget
        return Ledger(
            doubles=self._suite.doubles,
            steps=limits.steps,
            tokens=limits.tokens,
            cost_usd=limits.cost_usd,
            tool_budget=budget if self._mode in {"live", "record"} else None,
            model_budget=budget if self._models is not None and self._models.mode != "replay" else None,
        )

    def _answering(self, request: SessionRequest, closing: ExitStack, waits: Waits) -> Answering:
        assert self._client is not None  # the gateway runs
        services = self._opened_services(request, closing)
        # A trial that is tried again has the same id, and must not find what the first try has left on the service.
        session_id = f"{request.trial_id}.{secrets.token_hex(4)}"
        reached = upstreams(self._suite, services, self._secrets, session_id) if self._mode != "replay" else {}
        if self._mode in ("live", "record"):
            self._resets.before_trial(reached, self._client, self._thread.wait_for, closing)
        return Answering(
            mode=self._mode,
            case=request.case,
            cassette=partial(self._cassette, request.case),
            lenient=self._lenient,
            chain=StateChain(state_names(self._suite)),
            outside=Upstreams(self._suite, self._client, self._limiter, self._secrets, waits),
            reached=reached,
            services=services,
            reach=self._reachability,
        )

    def _opened_services(self, request: SessionRequest, closing: ExitStack) -> Mapping[str, str]:
        if self._shared is not None:
            return self._shared
        if self._services is None or not needs_services(self._suite, self._mode):
            return {}
        return closing.enter_context(self._services.open(request.trial_id))

    def _cassette(self, case: Case) -> Cassette:
        with self._lock:
            # The recordings grow during the run: the next trial of a case uses those of the previous one.
            if case.id not in self._loaded_cassettes or self._journals.records_tools:
                path = cassette_path(self._cassettes, self._suite.name, case.id)
                cassette = open_cassette(path) if path.exists() else Cassette()
                refuse_secrets(path, cassette.recordings, Redactor(self._secrets))
                self._loaded_cassettes[case.id] = cassette
            return self._loaded_cassettes[case.id]


def _new_socket(closing: ExitStack) -> Path:
    """The path of a trial's socket: in a folder of its own, because a sandbox mounts the folder."""
    return closing.enter_context(temporary_folder()) / _SOCKET
