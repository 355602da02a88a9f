"""A suite with tools and a model, both real servers of the tests' own."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.suite.models import ModelSpec
from harness.suite.suites import Suite
from tests.gateway.conftest import agent, case, run, shop, shop_server  # noqa: F401 - fixtures
from tests.gateway.conftest import suite as tool_suite  # noqa: F401 - fixtures
from tests.gateway.models.model_server import ModelServer, serve_models

KEY = "sk-very-secret-key-0123456789"
PRICES: dict[str, Any] = {
    "small-1": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 10.0, "cached_input_usd_per_mtok": 0.5}
}


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with serve_models() as server:
        yield server


@pytest.fixture
def suite(tool_suite: Suite, models: ModelServer) -> Suite:  # noqa: F811 - a fixture asked for by its name
    spec = ModelSpec(
        base_url=models.url,
        api_key="MODEL_KEY",
        prices=PRICES,
    )
    return tool_suite.model_copy(update={"model": spec, "probes": (), "secrets": ("MODEL_KEY",)})


@pytest.fixture
def other_suite(tool_suite: Suite, models: ModelServer) -> Suite:  # noqa: F811 - a fixture asked for by its name
    """With the models of Gemini and Azure in place of OpenAI's and Anthropic's."""
    at = {"base_url": models.url, "api_key": "MODEL_KEY"}
    spec = ModelSpec.model_validate({"providers": dict.fromkeys(("gemini", "azure"), at), "prices": PRICES})
    return tool_suite.model_copy(update={"model": spec, "probes": (), "secrets": ("MODEL_KEY",)})


@pytest.fixture
def every_suite(tool_suite: Suite, models: ModelServer) -> Suite:  # noqa: F811 - a fixture asked for by its name
    """With a model of every provider."""
    at = {"base_url": models.url, "api_key": "MODEL_KEY"}
    spec = ModelSpec.model_validate(
        {
            "providers": dict.fromkeys(("openai", "anthropic", "gemini", "azure"), at),
            "prices": PRICES,
            "models": ["small-1"],
        }
    )
    return tool_suite.model_copy(update={"model": spec, "probes": (), "secrets": ("MODEL_KEY",)})


@pytest.fixture
def play(run: Any) -> Any:  # noqa: F811 - a fixture asked for by its name
    """Runs one trial: `play(mode, agent, model="record", ...)`; gives the session's record."""

    def play_trial(tools: str, loop: Any, *, model: str, **more: Any) -> Any:
        return run(tools, loop, model_mode=model, secrets={"MODEL_KEY": KEY}, **more)

    return play_trial
