"""A trial's connection to the outside: a socket while the agent runs, a record afterwards."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import JsonValue

from harness.errors import GatewayError, HarnessError, ServiceError
from harness.gateway.contract import SessionRecord
from harness.gateway.injections import FaultySource
from harness.gateway.listener import Listener, listening
from harness.gateway.probes import TrialProbes
from harness.gateway.routes import MAX_TURNS, RouteContext, Routes, thought_attributes
from harness.gateway.trial import TrialContext
from harness.gateway.trial_tools import OpenBrowser, TrialSources
from harness.sandbox.provider import ProxiedHosts, Sandbox
from harness.suite.cases import StateProbe
from harness.traces import names
from harness.traces.recorder import TrialProgress
from harness.traces.trial import RecordingReport

if TYPE_CHECKING:
    from harness.cassettes.journals import Merge
    from harness.gateway.run_hosts import TrialProxy


_GRACE_S = 5.0
Soon = Callable[[Callable[[], object]], None]
"""Schedules a call before all calls that are submitted later."""


@dataclass(kw_only=True)
class SessionParts:
    """The parts that the gateway builds a session from."""

    trial: TrialContext
    socket: Path
    context: RouteContext
    soon: Soon
    world: TrialProbes
    overlay: FaultySource
    trial_sources: TrialSources
    web: "TrialProxy | None" = None
    pages_socket: Path | None = None
    """The socket of the trial's browser; None if the trial needs none."""
    user_may_wait: bool = False
    failures: list[BaseException] = field(default_factory=list)


class TrialSession:
    """A trial's session. `end()` it when the agent has ended; `close()` it in any case."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._routes = Routes(parts.context, None if parts.web is None else parts.web.proxy)
        hosts = None if parts.web is None or parts.web.proxy is None else (parts.web.proxy, parts.web.authority)
        refuses = parts.trial.ledger.refuses_request
        self._listeners = [Listener(self._routes, refuses, parts.failures.append, hosts)]
        self._record: SessionRecord | None = None
        self._closed = False
        self._listen(self._listeners[0], parts.socket)
        if parts.web is not None and parts.pages_socket is not None:
            from harness.gateway.forward_proxy import PageRoutes  # most suites have no browser

            proxy = parts.web.pages
            pages = PageRoutes(proxy, lambda: self._routes.is_open)
            self._listeners.append(Listener(pages, refuses, parts.failures.append, (proxy, parts.web.authority)))
            self._listen(self._listeners[1], parts.pages_socket)

    @property
    def socket(self) -> Path:
        """The Unix socket; its folder holds nothing else but the certificate of the run, and can be mounted."""
        return self._parts.socket

    @property
    def pages_socket(self) -> Path | None:
        """The Unix socket that serves only pages; None: no trial of the suite has a browser."""
        return self._parts.pages_socket

    @property
    def outside(self) -> ProxiedHosts | None:
        """The hosts that this session answers for; None: there are none."""
        return None if self._parts.web is None else self._parts.web.outside

    @property
    def user_may_wait(self) -> bool:
        """Whether the trial's user may take time to answer that does not count as the agent's."""
        return self._parts.user_may_wait

    @property
    def most_user_messages(self) -> int:
        """How many messages the trial's user may say."""
        conversation = self._parts.trial.case.conversation
        return MAX_TURNS if conversation is None else conversation.max_turns

    @property
    def progress(self) -> TrialProgress:
        """How far the trial is; may be asked for from any thread."""
        return self._parts.trial.recorder.progress

    def user_waited_s(self) -> float:
        """Seconds that the agent has waited for the user so far."""
        return self._routes.dialogue.waited_s

    def attach(self, sandbox: Sandbox | None) -> None:
        """Attaches the sandbox of the agent's program, for tools that act there. None: the program has ended."""
        self._parts.trial_sources.inside.attach(sandbox)

    def attach_browser(self, open_browser: OpenBrowser | None) -> None:
        """Attaches the function that opens the agent's browser, for tools that act there. None: detaches it."""
        self._parts.trial_sources.browser.attach(open_browser)

    def end(self) -> SessionRecord:
        """Rejects further requests, waits for calls in progress, runs the probes, and merges the recordings.

        Raises GatewayError if the gateway itself failed during the trial, or CassetteError if the recording must
        not be stored. A second call returns the same record.
        """
        if self._record is not None:
            return self._record
        if self._closed:
            raise GatewayError(f"the session of trial {self._trial_id!r} was closed before it was ended")
        states = self._finished()
        parts, ledger = self._parts, self._parts.trial.ledger
        merged = None if parts.trial.journals.finish is None else parts.trial.journals.finish()
        spans = parts.trial.recorder.finish()
        self._record = SessionRecord(
            spans=spans,
            final_reply=ledger.final_reply,
            states=states,
            misses=tuple(ledger.misses),
            tiers=dict(sorted(ledger.tiers.items())),
            limit_reached=ledger.limit_reached,
            provenances=dict(sorted(ledger.provenances.items())),
            model_tiers=dict(sorted(ledger.model_tiers.items())),
            used=ledger.used,
            outage=next(iter(ledger.outages.values()), None),
            model_requests=dict(ledger.model_requests),
            out_of_budget=ledger.out_of_budget,
            recorded=0 if merged is None else merged.added,
            differs=0 if merged is None else merged.differs,
            recording=None if merged is None else _recording_report(merged, parts),
            unfired_faults=tuple(one.words for one in parts.overlay.unfired()),
            unsaid_turns=self._routes.dialogue.unsaid(),
            user=self._routes.dialogue.report(),
        )
        return self._record

    @property
    def _trial_id(self) -> str:
        return self._parts.trial.request.trial_id

    def _listen(self, listener: Listener, path: Path) -> None:
        """The kernel queues connections until the listener serves the socket, so this need not wait."""
        made = listening(path)

        def begin() -> None:
            try:
                listener.serve(made)
            except BaseException as failure:
                made.close()
                self._parts.failures.append(failure)
                raise

        self._parts.soon(begin)

    def _finished(self) -> dict[str, JsonValue]:
        """The results of the probes; the error of a failed service includes its output."""
        services = self._parts.trial.started_services
        try:
            if services is None:
                states: dict[str, JsonValue] = self._parts.trial.wait_for(self._finish_and_probe())
                return states
            self._parts.trial.wait_for(self._finish())
            services.check()  # queries the container engine, which may be slow
            states = self._parts.trial.wait_for(self._probed())
        except ServiceError as error:
            if services is not None and not error.logs:
                error.logs = services.tails()
            raise
        return states

    def clean(self, content: bytes) -> bytes:
        """What the agent left (files, output), without the secrets that this trial has used."""
        return self._parts.trial.redactor.content(content)

    def close(self) -> None:
        """Ends every connection and removes the socket; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self._parts.trial.wait_for(self._abandon())
        finally:
            self._parts.trial.closing.close()
            self._parts.trial.recorder.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _finish_and_probe(self) -> dict[str, JsonValue]:
        await self._finish()
        return await self._probed()

    async def _finish(self) -> None:
        self._routes.end()
        under_way = set(self._parts.trial.under_way)
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._parts.failures.extend(await self._parts.trial.exchange.large.all_finished())
        await self._stop_listening()
        self._record_trailing_thought()
        self._parts.trial.recorder.end_turns()

    async def _abandon(self) -> None:
        await self._stop_listening()
        await self._parts.trial.exchange.large.close()

    async def _stop_listening(self) -> None:
        for listener in self._listeners:
            await listener.close()

    async def _probed(self) -> dict[str, JsonValue]:
        self._raise_failure()
        calls = self._parts.context.calls
        await calls.finish()
        states: dict[str, JsonValue] = {}
        for probe in self._tool_probes():
            content, failure = await calls.probe(probe)
            if failure is None:
                states[probe.name] = content
            elif failure.is_of_state:
                states[probe.name] = {"unmeasurable": self.clean(failure.message.encode()).decode()}
        states |= await self._parts.world.read()
        self._raise_failure()
        return states

    def _tool_probes(self) -> list[StateProbe]:
        trial = self._parts.trial
        return [probe for probe in (*trial.suite.probes, *trial.case.probes) if probe.tool is not None]

    def _record_trailing_thought(self) -> None:
        attributes, recorder = thought_attributes(self._parts.trial.ledger), self._parts.trial.recorder
        if any(attributes.values()):
            attributes_of_step = {names.STEP_KIND: names.TRAILING_THOUGHT, **attributes}
            recorder.record(names.TRAILING_THOUGHT, attributes_of_step, time.monotonic_ns())

    def _raise_failure(self) -> None:
        for failure in self._parts.failures:
            if isinstance(failure, HarnessError):
                raise failure
            raise GatewayError(
                f"the gateway failed in trial {self._trial_id!r}: {type(failure).__name__}: {failure}"
            ) from failure


def _recording_report(merged: "Merge", parts: SessionParts) -> RecordingReport:
    trial_recording, normalisation = parts.trial.trial_recording, parts.trial.normalisation
    failed = parts.trial.ledger.unrecorded_replies + (Counter() if trial_recording is None else trial_recording.failed)
    return RecordingReport(
        added=merged.added,
        kept=merged.kept,
        replaced=merged.replaced,
        levelled=0 if normalisation is None else normalisation.levelled,
        differing=merged.differing,
        failed=dict(sorted(failed.items())),
        unreadable={} if trial_recording is None else dict(sorted(trial_recording.unreadable.items())),
        ignored=dict(sorted(parts.trial.ledger.ignored.items())),
        unsettled=0 if trial_recording is None else trial_recording.unsettled,
    )
