"""Which model judges, and how it is reached: `judge.yaml` of a suite or of the project, and options that override
it.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field

from harness.errors import UsageError
from harness.gateway.models.sampling import Sampling
from harness.judging.prompts import PRODUCTION, Prompt
from harness.judging.verdicts import JudgeIdentity
from harness.suite.documents import read_document
from harness.suite.models import ClientProvider, ModelEndpoint
from harness.values import canonical_json

_FAMILIES: Final = {
    "openai": r"gpt|chatgpt|o[1-9](?:-|$)|davinci|codex",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm",
    "meta": r"llama",
    "qwen": r"qwen|qwq",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral",
    "deepseek": r"deepseek",
    "xai": r"grok",
    "cohere": r"command",
    "moonshot": r"kimi",
    "zhipu": r"glm",
    "microsoft": r"phi-?\d",
    "amazon": r"nova-|titan",
}


def family_of(model: str) -> str | None:
    """The family by the model's name, whoever serves it (`openrouter/anthropic/claude-x`); None: unknown."""
    name = model.lower().rsplit("/", 1)[-1]
    return next(
        (family for family, pattern in _FAMILIES.items() if re.search(rf"(?:^|[^a-z])(?:{pattern})", name)), None
    )


def shared_family(judge: str, agents: Iterable[str]) -> str | None:
    """The family that the judge shares with one of the agent's models; None: no known family is shared."""
    judge_family = family_of(judge)
    return judge_family if judge_family is not None and judge_family in {family_of(model) for model in agents} else None


FILE: Final = "judge.yaml"

_DEFAULTS: Final[tuple[tuple[ClientProvider, str, str], ...]] = (
    ("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ("openai", "gpt-5", "OPENAI_API_KEY"),
)


class JudgeSettings(ModelEndpoint):
    """The model of a judge, and its settings."""

    model: str
    """The provider's name of the model."""
    timeout_s: float = Field(default=120.0, gt=0)
    """The timeout of a request in seconds."""
    tries: int = Field(default=5, ge=1, le=20)
    """How often a request is sent to a provider that is busy or cannot be reached."""
    first_wait_s: float = Field(default=0.5, ge=0)
    """The pause before the second attempt; doubled each time, unless the provider states a duration."""
    in_flight: int = Field(default=32, ge=1, le=1024)
    """The number of simultaneous requests."""
    samples: int = Field(default=1, ge=1, le=99)
    """How often each question is sent; the majority counts."""
    sampling: Sampling = Sampling()
    """Sent with every question; a parameter that the model refuses is omitted after its first error."""
    label: str = PRODUCTION
    """The version of the prompt."""

    def identity(self, prompt: Prompt) -> JudgeIdentity:
        """The judge that asks this model with a prompt."""
        host = "its own host" if self.base_url is None else urlsplit(self.base_url).hostname
        sent = canonical_json(self.sampling.parameters(self.provider))
        return JudgeIdentity(
            prompt=prompt.name,
            prompt_version=prompt.version,
            prompt_digest=prompt.digest,
            model=self.model,
            samples=self.samples,
            asked=f"{self.provider} at {host}, {sent}",
        )


def judge_settings(
    project: Path,
    suite_folder: Path | None,
    typed: Mapping[str, object],
    agents: Iterable[str] = (),
    *,
    purpose: str = "judge",
    options: str | None = "--model NAME",
) -> JudgeSettings:
    """The settings in the suite's `judge.yaml`, else in the project's, overridden by the command line's values in
    `typed` (None if an option was not given).

    If no model is named, one of another family than the agent's models (`agents`) is selected, among those whose key
    is in the environment. Raises UsageError if none is found; its message contains the `purpose` of the model
    and the `options` that set one (None: no options exist).
    """
    given = {name: value for name, value in typed.items() if value is not None}
    places = [place / FILE for place in (suite_folder, project) if place is not None]
    known = next((read_document(path, JudgeSettings) for path in places if path.is_file()), None)
    if known is not None:
        if "model" in given and "provider" not in given and "base_url" not in given:
            given["provider"] = _provider_of(str(given["model"]), known.provider)
        return _reached(JudgeSettings.model_validate(known.model_dump() | given))
    if "model" in given:
        provider = _provider_of(str(given["model"]), "openai")
        return _reached(JudgeSettings.model_validate({"provider": provider, **given}))
    found = _other_family({family_of(one) for one in agents})
    if found is None:
        typing = "" if options is None else f"{options}, or "
        raise UsageError(
            f"no {purpose} model is configured",
            remedy=f"{typing}`model:` and `base_url:` in {FILE} of the suite or the project",
        )
    provider, model = found
    return _reached(JudgeSettings.model_validate({"provider": provider, "model": model, **given}))


def _reached(settings: JudgeSettings) -> JudgeSettings:
    """With the address in OPENAI_BASE_URL or ANTHROPIC_BASE_URL and the provider's usual key, if no file says where the
    model is reached.
    """
    prefix = settings.provider.upper()
    url, key = os.environ.get(f"{prefix}_BASE_URL"), f"{prefix}_API_KEY"
    if settings.base_url is not None or not url:
        return settings
    usual = key if settings.api_key is None and os.environ.get(key) else settings.api_key
    return settings.model_copy(update={"base_url": url, "api_key": usual})


def _provider_of(model: str, otherwise: ClientProvider) -> ClientProvider:
    families: dict[str | None, ClientProvider] = {"openai": "openai", "anthropic": "anthropic"}
    return families.get(family_of(model), otherwise)


def _other_family(agents: set[str | None]) -> tuple[ClientProvider, str] | None:
    """The first other family with a key in the environment; None: no key is set."""
    there = [(provider, model) for provider, model, key in _DEFAULTS if os.environ.get(key)]
    return next((one for one in there if one[0] not in agents), there[0] if there else None)
