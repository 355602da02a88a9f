"""The server of one model that the harness itself asks: a judge, a simulated user, a check of meaning."""

from pydantic import Field, model_validator

from harness.case.endpoints.model import ClientProvider, ModelMode, ModelServer, ModelSpec, Price
from harness.case.endpoints.tool import RateLimit
from harness.values import Frozen


class ModelEndpoint(Frozen):
    """Which model is asked, and how it is reached."""

    model: str | None = None
    """The provider's name of the model. None: no model is asked."""
    provider: ClientProvider = "openai"
    """The wire format that it speaks."""
    base_url: str | None = None
    """None: the provider's own address."""
    api_key: str | None = None
    """Name of the environment variable that holds the key. None: the provider's usual one at its own address."""
    double: bool = False
    """States that a program with rules answers in place of a model."""
    prices: dict[str, Price] = {}
    """Model -> its price; without one the cost is not known."""
    rate_limit: RateLimit | None = None
    """Requests in a time, at most. None: no limit of our own."""
    timeout_s: float = Field(default=60.0, gt=0)
    """The timeout of a request in seconds."""
    tries: int = Field(default=5, ge=1, le=20)
    """How often a request is sent to a provider that is busy or cannot be reached."""

    @property
    def spec(self) -> ModelSpec:
        """The model as the gateway reaches models."""
        return ModelSpec(
            providers={self.provider: ModelServer(base_url=self.base_url, api_key=self.api_key)},
            prices=self.prices,
            rate_limit=self.rate_limit,
            timeout_s=self.timeout_s,
            double=self.double,
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys; none where no model is asked."""
        return () if self.model is None else self.spec.secrets


class RecordedModel(ModelEndpoint):
    """A model whose answers stand on the case's cassette, beside those of tools and of the agent's model."""

    mode: ModelMode = "replay"
    """`replay`: from the case's cassette. `record`: recorded answers first, the rest is asked and recorded. `live`:
    asked.
    """
    temperature: float | None = Field(default=0, ge=0, le=2)
    """Null leaves it out."""
    max_tokens: int = Field(default=512, gt=0)
    """Of one answer."""
    budget_usd: float | None = Field(default=None, gt=0)
    """What the model may cost in a run, which stops there."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """Likewise in tokens."""

    @model_validator(mode="after")
    def _budget_needs_prices(self) -> "RecordedModel":
        if self.budget_usd is not None and not self.prices:
            raise ValueError("`budget_usd` needs `prices`, or the cost is not known")
        return self
