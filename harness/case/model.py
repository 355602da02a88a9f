"""The models that a suite's agent may reach, and how."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from harness.case.provenance import Provenance
from harness.case.tool import RateLimit
from harness.values import Frozen

ModelMode = Literal["replay", "record", "live"]
ToolMode = Literal["replay", "record", "live", "sealed"]
"""`replay`: from the cassette. `record`: from the real service, and onto the cassette. `live`: from the real service.
`sealed`: from a service of the trial's own, restored from the snapshot."""
"""`replay`: from the cassette. `record`: from the real provider, and onto the cassette. `live`: from the real provider.
"""

Provider = Literal["openai", "anthropic"]
"""A wire format's family: `/v1/chat/completions`, `/v1/responses` and `/v1/embeddings`, or `/v1/messages`."""

_DEFAULTS: dict[Provider, tuple[str, str]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
}


class ModelServer(Frozen):
    """The server of one family of wire formats. Fields that are not set have the provider's own values."""

    base_url: str | None = None
    """As the provider's own client takes it."""
    api_key: str | None = None
    """Name of the environment variable that holds the key. None: the provider's usual one at the provider's own
    address, and no key anywhere else."""
    headers: dict[str, str] = {}
    """Sent with every live call."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return _address(value)


class Price(Frozen):
    """The price of a million tokens; cached input is priced as input where it has no price of its own."""

    input_usd_per_mtok: float = Field(ge=0)
    """US dollars for a million input tokens."""
    output_usd_per_mtok: float = Field(ge=0)
    """US dollars for a million output tokens."""
    cached_input_usd_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars for a million input tokens that the provider had cached. None: as input."""


class ModelSpec(Frozen):
    """The suite's `model:` section. Without `providers`, one address serves all wire formats, or OpenAI's own does."""

    base_url: str | None = None
    """A compatible server that speaks every wire format; None: the providers' own."""
    api_key: str | None = None
    """Name of the environment variable that holds the key."""
    providers: dict[Provider, ModelServer] = {}
    """Family of wire formats -> where it is served. Empty: one address serves all."""
    double: bool = False
    """States that a double answers in place of the model: a program with rules, or a stub. Its recordings are marked,
    and so are reports whose figures depend on them.
    """
    mode: ModelMode = "replay"
    """The mode unless the command line sets another one."""
    prices: dict[str, Price] = {}
    """By model, or by the beginning of its name: the longest that fits."""
    allow_hosted_tools: bool = False
    """Whether the provider may run tools of its own (web search, code, remote MCP), outside of the sandbox."""
    allow_fields: tuple[str, ...] = ()
    """Top-level fields of a request that are passed on, beside those of the providers' interfaces that are known."""
    models: tuple[str, ...] = ()
    """The models that the agent may ask; none: any."""
    ignore: tuple[str, ...] = ()
    """Top-level fields of a request that are left out of the cassette key, beside those that never matter."""
    rate_limit: RateLimit | None = None
    """Of each provider, over all trials together; live calls only."""
    timeout_s: float = Field(default=300.0, gt=0)
    """Seconds for the reply to begin, and between its pieces."""
    pace: Literal["at_once", "recorded"] = "at_once"
    """How a streamed reply is replayed."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return _address(value)

    @property
    def provenance(self) -> Provenance:
        """The provenance of every live reply."""
        return "double" if self.double else "service"

    @property
    def servers(self) -> dict[Provider, ModelServer]:
        """Every provider that the agent may reach, with address and key filled in."""
        declared: dict[Provider, ModelServer] = dict(self.providers)
        if not declared:
            declared = {"openai": ModelServer()} if self.base_url is None else dict.fromkeys(_DEFAULTS, ModelServer())
        return {provider: self._filled(provider, server) for provider, server in declared.items()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys."""
        keys = (server.api_key for server in self.servers.values())
        return tuple(dict.fromkeys(key for key in keys if key is not None))

    def price_of(self, model: str) -> Price | None:
        """None where no price is declared for it."""
        matching = [name for name in self.prices if model == name or model.startswith(f"{name}-")]
        return self.prices[max(matching, key=len)] if matching else None

    def _filled(self, provider: Provider, server: ModelServer) -> ModelServer:
        usual_url, usual_key = _DEFAULTS[provider]
        base_url = server.base_url or self.base_url
        key = server.api_key or self.api_key or (usual_key if base_url is None else None)
        return server.model_copy(update={"base_url": base_url or usual_url, "api_key": key})


def _address(value: str | None) -> str | None:
    if value is not None:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError(f"expected an http(s) URL, found {value!r}")
    return value
