"""The models of a run: what all of its trials share, and the handler of each."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from harness.case import ModelMode, ModelSpec
from harness.cassette import Cassette, Journal, Player, Redactor
from harness.gateway.ledger import Ledger
from harness.gateway.model.handler import ModelContext, ModelHandler
from harness.gateway.model.live import LiveModel
from harness.trace import TraceRecorder
from harness.upstream import ProviderUpstream, RateLimiter, Reachability, ReplyRecorder, RequestKeys, Waits, check_keys


@dataclass(frozen=True, kw_only=True)
class ModelTrial:
    """What a handler gets of its trial; `cassette` None: not replayed, `journal` None: not recorded."""

    cassette: Cassette | None
    journal: Journal | None
    recorder: TraceRecorder
    redactor: Redactor
    ledger: Ledger
    under_way: set[asyncio.Task[object]]
    waits: Waits
    reach: Reachability


class RunModels:
    """The suite's models in one mode."""

    def __init__(self, spec: ModelSpec, mode: ModelMode, secrets: Mapping[str, str], limiter: RateLimiter) -> None:
        """Raises UsageError where a real provider is to be called and its key is missing."""
        self._spec = spec
        self.mode = mode
        self._secrets = secrets
        self._limiter = limiter
        if mode != "replay":
            check_keys(spec, mode, secrets)

    def handler(self, client: aiohttp.ClientSession, trial: ModelTrial) -> ModelHandler:
        """The model endpoints of one trial."""
        keys = RequestKeys(trial.redactor, self._spec.ignore)
        return ModelHandler(
            ModelContext(
                spec=self._spec,
                source=self._live(client, trial) if trial.cassette is None else Player(trial.cassette),
                keys=keys,
                cassette=ReplyRecorder(trial.journal, keys, trial.redactor, self._spec.provenance),
                recorder=trial.recorder,
                ledger=trial.ledger,
                under_way=trial.under_way,
            )
        )

    def _live(self, client: aiohttp.ClientSession, trial: ModelTrial) -> LiveModel:
        upstreams = {
            provider: ProviderUpstream(provider, server, self._secrets.get(server.api_key or ""), client)
            for provider, server in self._spec.servers.items()
        }
        return LiveModel(
            spec=self._spec,
            upstreams=upstreams,
            limiter=self._limiter,
            waits=trial.waits,
            redactor=trial.redactor,
            reach=trial.reach,
        )
