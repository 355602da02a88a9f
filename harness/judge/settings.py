"""Which model judges, and how it is reached: `judge.yaml` of a suite or of the project, and what is typed over it."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import Field

from harness.case import ModelServer, ModelSpec, Price, Provider, RateLimit
from harness.documents import read_document
from harness.errors import UsageError
from harness.judge.family import family_of
from harness.judge.prompts import PRODUCTION
from harness.upstream import Sampling
from harness.values import Frozen

FILE: Final = "judge.yaml"

_DEFAULTS: Final[tuple[tuple[Provider, str, str], ...]] = (
    ("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ("openai", "gpt-5", "OPENAI_API_KEY"),
)


class JudgeSettings(Frozen):
    """A judge's model."""

    model: str
    """The provider's name of the model."""
    provider: Provider = "openai"
    """The wire format that it speaks."""
    base_url: str | None = None
    """None: the provider's own address."""
    api_key: str | None = None
    """Name of the environment variable that holds the key. None: the provider's usual one at its own address."""
    prices: dict[str, Price] = {}
    """Model -> its price; without one the cost is not known."""
    rate_limit: RateLimit | None = None
    """Requests in a time, at most. None: no limit of our own."""
    timeout_s: float = Field(default=120.0, gt=0)
    """The timeout of a request in seconds."""
    tries: int = Field(default=5, ge=1, le=20)
    """How often a request is sent to a provider that is busy or cannot be reached."""
    first_wait_s: float = Field(default=0.5, ge=0)
    """The pause before the second try; doubled each time, unless the provider states a duration."""
    in_flight: int = Field(default=32, ge=1, le=1024)
    """Requests at a time."""
    samples: int = Field(default=1, ge=1, le=99)
    """How often each question is put; the majority counts."""
    sampling: Sampling = Sampling()
    """Sent with every question; what a model refuses is left out, which is learnt from its first error."""
    label: str = PRODUCTION
    """Which version of the prompt."""

    @property
    def spec(self) -> ModelSpec:
        """As the gateway reaches models."""
        return ModelSpec(
            providers={self.provider: ModelServer(base_url=self.base_url, api_key=self.api_key)},
            prices=self.prices,
            rate_limit=self.rate_limit,
            timeout_s=self.timeout_s,
        )


def judge_settings(
    project: Path, suite_folder: Path | None, typed: Mapping[str, object], agents: Iterable[str] = ()
) -> JudgeSettings:
    """The settings in the suite's `judge.yaml`, else in the project's, overridden by the command line's values in
    `typed` (None where an option was not given).

    Where no model is named, one of another family than the agent's models (`agents`) is selected, among those whose key
    is in the environment. Raises UsageError where there is none.
    """
    given = {name: value for name, value in typed.items() if value is not None}
    places = [place / FILE for place in (suite_folder, project) if place is not None]
    known = next((read_document(path, JudgeSettings) for path in places if path.is_file()), None)
    if known is not None:
        if "model" in given and "provider" not in given and "base_url" not in given:
            given["provider"] = _provider_of(str(given["model"]), known.provider)
        return JudgeSettings.model_validate(known.model_dump() | given)
    if "model" in given:
        model = str(given["model"])
        default: Provider = "openai" if "base_url" in given else _provider_of(model, "openai")
        return JudgeSettings.model_validate({"provider": default, **given})
    provider, model = _other_family({family_of(one) for one in agents})
    return JudgeSettings.model_validate({"provider": provider, "model": model, **given})


def _provider_of(model: str, otherwise: Provider) -> Provider:
    families: dict[str | None, Provider] = {"openai": "openai", "anthropic": "anthropic"}
    return families.get(family_of(model), otherwise)


def _other_family(agents: set[str | None]) -> tuple[Provider, str]:
    there = [(provider, model) for provider, model, key in _DEFAULTS if os.environ.get(key)]
    if not there:
        raise UsageError(
            "nobody said which model judges",
            remedy=f"--model NAME --base-url URL, or `model:` and `base_url:` in {FILE} of the suite or the project",
        )
    return next((one for one in there if one[0] not in agents), there[0])
