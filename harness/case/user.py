"""Who plays the user: the `user` field of a case, and the suite's `user:` section."""

from pydantic import Field, field_validator, model_validator

from harness.case.model import ModelMode, ModelServer, ModelSpec, Price, Provider
from harness.case.tool import RateLimit
from harness.values import Frozen, JsonObject

UserKind = str
"""`script`, `model`, `logged`, or an installed user of the entry point group `harness.user`."""


class CaseUser(Frozen):
    """Who plays the user of one case."""

    kind: UserKind | None = None
    """`script`, `model`, `logged` or an installed user. None: as the suite says."""
    log: str | None = None
    """A conversation in the suite's folder that `logged` plays back: a YAML or JSON file."""
    withhold: tuple[str, ...] = ()
    """Texts that the user must not say before the agent has asked for them."""
    options: JsonObject = {}
    """Options of an installed user."""

    @field_validator("log")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        if value is not None and (value.startswith("/") or ".." in value.split("/")):
            raise ValueError(f"{value!r} leaves the suite's folder")
        return value


class UserSpec(Frozen):
    """The `user:` section of suite.yaml, or a file `user.yaml` beside it: the model that plays the user, on a key, a
    budget, prices and a rate limit of its own.
    """

    kind: UserKind | None = None
    """The user of cases that name none. None: `script` where a case has turns, else `model` where a model is named."""
    model: str | None = None
    """The provider's name of the model. None: the suite has no model user."""
    provider: Provider = "openai"
    """The wire format that it speaks."""
    base_url: str | None = None
    """None: the provider's own address."""
    api_key: str | None = None
    """Name of the environment variable that holds the key. None: the provider's usual one at its own address."""
    mode: ModelMode = "replay"
    """`replay`: from the case's cassette. `record`: recorded answers first, the rest is asked and recorded. `live`:
    asked.
    """
    double: bool = False
    """States that a program with rules answers in place of a model."""
    prices: dict[str, Price] = {}
    """Model -> its price; without one the cost is not known."""
    rate_limit: RateLimit | None = None
    """Requests in a time, at most. None: no limit of our own."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds for one reply."""
    tries: int = Field(default=5, ge=1, le=20)
    """How often a request is sent to a provider that is busy or cannot be reached."""
    temperature: float | None = Field(default=0, ge=0, le=2)
    """Null leaves it out."""
    max_tokens: int = Field(default=512, gt=0)
    """Of one message."""
    budget_usd: float | None = Field(default=None, gt=0)
    """What the simulated users of a run may cost; the run stops there."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """Likewise in tokens."""
    corrections: int = Field(default=2, ge=0, le=5)
    """How often a message that is no user's message is asked for again before the simulator has failed."""
    silence: int = Field(default=3, ge=1, le=20)
    """Empty replies of the agent after which the user gives up."""
    instructions: str | None = None
    """Added to the simulating model's instructions."""
    persona: str | None = None
    """The persona of cases that name none."""

    @model_validator(mode="after")
    def _budget_needs_prices(self) -> "UserSpec":
        if self.budget_usd is not None and not self.prices:
            raise ValueError("`budget_usd` needs `prices`, or the cost is not known")
        return self

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys; none where there is no model user."""
        return () if self.model is None else self.spec.secrets

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
