"""One trial as the gateway serves it: the context that each endpoint is built from."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import StateChain
from harness.cassettes.player import Player
from harness.cassettes.recordings import Kind
from harness.cassettes.redaction import Redactor
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.contract import QueryableServices, SessionRequest
from harness.gateway.exchange import Exchange, LargeWork
from harness.gateway.ledger import Ledger
from harness.gateway.upstream.http_tools import ToolUpstream
from harness.gateway.upstream.sources import Reached
from harness.gateway.upstream.transport import TrialThreads
from harness.suite.cases import Case
from harness.suite.models import ToolMode
from harness.suite.suites import Suite
from harness.traces.recorder import TraceRecorder, Volume

if TYPE_CHECKING:
    from harness.cassettes.journals import Merge, TrialJournal
    from harness.cassettes.normalisation import Normalisation
    from harness.cassettes.trial_recording import TrialRecording
    from harness.gateway.recording import Codec, R, Recorder


@dataclass(frozen=True, kw_only=True)
class Journals:
    """None: no recordings are written."""

    tools: "TrialJournal | None" = None
    """Player of tools and hosts."""
    models: "TrialJournal | None" = None
    finish: "Callable[[], Merge | None] | None" = None
    """Merges the recordings into their cassette; returns the result for the case's own cassette, or None if it is
    not recorded.
    """


@dataclass(frozen=True, kw_only=True)
class JournalKeeper:
    """Opens the journals of a run's trials."""

    suite: str
    cassettes: Path
    records_tools: bool
    records_models: bool
    refresh: bool
    live: Path | None
    """The folder for the cassettes of tools that answer live."""

    def open(self, request: SessionRequest, redactor: "Redactor", closing: ExitStack, volume: Volume) -> Journals:
        """Opens the journals of a trial, which are closed with `closing`; journals for the run's own cassettes are
        deleted where the trial has not ended.
        """
        if not (self.records_tools or self.records_models or self.live is not None):
            return Journals()
        from harness.cassettes.journals import (  # a replayed trial does without the recorder
            TrialJournal,
            keep_live,
            merge,
        )

        case, recorded, kept = request.case.id, None, None
        name = f"{case}.{request.attempt}"
        if self.records_tools or self.records_models:
            recorded = TrialJournal(self.cassettes, suite=self.suite, case=case, redactor=redactor, wrote=volume.add)
            closing.callback(recorded.close)
        if self.live is not None:
            kept = TrialJournal(self.live, suite=self.suite, case=name, redactor=redactor, kept=True, wrote=volume.add)
            closing.callback(kept.remove)

        def finish() -> "Merge | None":
            if kept is not None and self.live is not None:
                keep_live(kept, self.live, self.suite, name)
            if recorded is None:
                return None
            return merge(recorded, self.cassettes, suite=self.suite, case=case, refresh=self.refresh)

        return Journals(
            tools=recorded if self.records_tools else kept,
            models=recorded if self.records_models else None,
            finish=None if recorded is None and kept is None else finish,
        )


Await = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine on the gateway's own thread and waits for it."""


@dataclass(frozen=True, kw_only=True)
class RunUpstream:
    """How a run reaches real services; shared by its trials."""

    suite: Suite
    client: aiohttp.ClientSession
    limiter: RateLimiter
    answered: set[str]
    """The servers, hosts (`http:<host>`) and models (`model:<provider>`) outside that have worked in this run."""
    secrets: Mapping[str, str]


@dataclass(kw_only=True)
class TrialContext:
    """State of one trial. Everything recorded or replayed in it shares one chain of writes, one ledger and one
    trace.
    """

    request: SessionRequest
    mode: ToolMode
    run: RunUpstream
    reached: Mapping[str, ToolUpstream]
    """The suite's servers and hosts as this trial reaches them; empty if they are replayed."""
    services: Mapping[str, str]
    waits: Waits
    redactor: Redactor
    recorder: TraceRecorder
    ledger: Ledger
    journals: Journals
    refresh: bool
    volatile: Mapping[str, Sequence[str]]
    """Tool -> JSON pointers to values that were observed to change by themselves; recording treats them as declared
    volatile.
    """
    cassette: Callable[[], Cassette]
    chain: StateChain
    closing: ExitStack
    """Closed with the session: the trial's services, its journal, its folder."""
    wait_for: Await
    threads: TrialThreads

    @property
    def case(self) -> Case:
        return self.request.case

    @property
    def suite(self) -> Suite:
        return self.run.suite

    @cached_property
    def exchange(self) -> Exchange:
        large = LargeWork(self.threads.pool("large"))
        return Exchange(ledger=self.ledger, recorder=self.recorder, redactor=self.redactor, large=large)

    @property
    def under_way(self) -> set[asyncio.Task[object]]:
        """Calls in progress, which are waited for when the trial ends."""
        return self.exchange.under_way

    @property
    def tier(self) -> Reached:
        """How real services are reached."""
        return "sealed" if self.mode == "sealed" else "live"

    @property
    def started_services(self) -> QueryableServices | None:
        """The services, if the environment started them, so that they can be checked and queried."""
        return self.services if isinstance(self.services, QueryableServices) else None

    def player(self, kind: Kind) -> Player | None:
        """None: nothing is replayed."""
        if self.mode != "replay":
            return None
        return Player(self.cassette().only(kind), chain=self.chain, volatile=self._declared_volatile())

    @cached_property
    def trial_recording(self) -> "TrialRecording | None":
        """None: nothing is recorded."""
        if self.journals.tools is None:
            return None
        from harness.cassettes.trial_recording import TrialRecording  # a replayed trial does without the recorder

        return TrialRecording(
            journal=self.journals.tools,
            chain=self.chain,
            doubles=self.suite.doubles,
            keeps_failures=self.mode != "record",
        )

    @cached_property
    def normalisation(self) -> "Normalisation | None":
        """What the answers of a recorded trial are normalised against; None: the case's cassette is not recorded."""
        return self.new_normalisation() if self.mode == "record" else None

    @cached_property
    def fed_values(self) -> "Normalisation | None":
        """What corresponds between the parent of a variant, which the agent receives, and the services; None: it
        receives nothing.
        """
        variant = self.request.variant
        return self.new_normalisation() if variant is not None and variant.fed else None

    def new_normalisation(self) -> "Normalisation":
        """A mapping of generated values that has learnt nothing yet."""
        from harness.cassettes.bindings import identity_kinds
        from harness.cassettes.normalisation import Normalisation

        known = {
            tool: (*declared, *self.volatile.get(tool, ())) for tool, declared in self._declared_volatile().items()
        }
        for tool in self.suite.tools:
            known[tool.name] = (*known[tool.name], *tool.generated_ids)
        kinds = identity_kinds({tool.name: tool.parameters for tool in self.suite.tools})
        return Normalisation(cassette=self.cassette(), declared=known, refresh=self.refresh, kinds=kinds)

    def recording(self, codec: "Codec[R]", *, levels: bool = True) -> "Recorder[R] | None":
        """The recorder of the calls of one kind; None: nothing is recorded. With `levels` False, the agent never
        receives its answers, so that they are not normalised to the cassette's.
        """
        if self.trial_recording is None:
            return None
        from harness.gateway.recording import Recorder

        return Recorder(
            codec=codec,
            trial_recording=self.trial_recording,
            redactor=self.redactor,
            normalisation=self.normalisation if levels else None,
        )

    def _declared_volatile(self) -> dict[str, tuple[str, ...]]:
        suite = self.suite
        return {tool.name: tool.volatile for tool in suite.tools} | {host.tool: host.volatile for host in suite.hosts}
