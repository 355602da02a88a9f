"""The models of a run: what all of its trials share, and the handler of each trial."""

from collections.abc import Mapping

from harness.case import ModelMode, ModelSpec
from harness.cassette import Player
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.model.handler import ModelContext, ModelHandler
from harness.gateway.model.live import LiveModel
from harness.gateway.overlay.model_changes import model_changes
from harness.upstream import ProviderUpstream, ReplyRecorder, RequestKeys, check_keys


class RunModels:
    """The suite's models in one tool mode."""

    def __init__(self, spec: ModelSpec, mode: ModelMode, secrets: Mapping[str, str]) -> None:
        """Raises UsageError where a real provider is to be called and its key is missing."""
        self._spec = spec
        self.mode = mode
        self._secrets = secrets
        if mode != "replay":
            check_keys(spec, mode, secrets)

    def handler(self, trial: TrialContext) -> ModelHandler:
        """The model endpoints of one trial."""
        keys = RequestKeys(trial.redactor, self._spec.ignore)
        changes = model_changes(trial.request.variant)
        return ModelHandler(
            ModelContext(
                spec=self._spec,
                source=Player(trial.cassette().only("model")) if self.mode == "replay" else self._live(trial),
                keys=keys,
                cassette=ReplyRecorder(trial.journals.models, keys, trial.redactor, self._spec.provenance),
                exchange=trial.exchange,
                prompts=trial.suite.agent_prompts,
                changes=changes,
                recorded=None if changes is None else Player(trial.cassette().only("model")),
            )
        )

    def _live(self, trial: TrialContext) -> LiveModel:
        upstreams = {
            provider: ProviderUpstream(provider, server, self._secrets, trial.run.client)
            for provider, server in self._spec.servers.items()
        }
        return LiveModel(
            spec=self._spec,
            upstreams=upstreams,
            limiter=trial.run.limiter,
            waits=trial.waits,
            redactor=trial.redactor,
            reach=trial.run.reachability,
            large=trial.exchange.large,
        )
