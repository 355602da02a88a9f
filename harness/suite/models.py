"""The models that a suite's agent may reach, those that the harness asks, their prices, and who answers: a
service or its double.
"""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from harness.suite.documents import read_document
from harness.suite.tools import Rate, VolatilePart
from harness.values import Frozen, JsonObject

Provenance = Literal["service", "double", "trajectory", "hand"]
"""The source of an answer.

`service`: the server, host, database or model itself. `double`: a replacement for one, which the suite declares.
`trajectory`: an imported trajectory. `hand`: a person wrote or changed it.
"""

CalledKind = Literal["tool", "model", "http", "probe"]


class Doubles(Frozen):
    """The doubles of one suite."""

    servers: frozenset[str] = frozenset()
    """Tool servers by name, and hosts as `http:<host>`."""
    services: frozenset[str] = frozenset()
    """Services of the environment that one of them is."""
    model: bool = False
    own: frozenset[str] = frozenset()
    """Servers that are the trial's own sandbox and browser."""

    def provenance(self, kind: CalledKind, server: str, arguments: str) -> Provenance | None:
        """The provenance of a current answer; None if the trial's own sandbox or browser answers.

        `arguments` is the call's canonical JSON: that of a probe contains its request.
        """
        if server in self.own:
            return None
        match kind:
            case "model":
                double = self.model
            case "probe":
                asked = json.loads(arguments)
                double = asked.get("server") in self.servers or asked.get("service") in self.services
            case _:
                double = server in self.servers
        return "double" if double else "service"


ModelMode = Literal["replay", "record", "live"]
ToolMode = Literal["replay", "record", "live", "sealed"]
"""`replay`: from the cassette. `record`: from the real service, and onto the cassette. `live`: from the real service.
`sealed`: from a service of the trial's own, restored from the snapshot."""
"""`replay`: from the cassette. `record`: from the real provider, and onto the cassette. `live`: from the real provider.
"""

Provider = Literal["openai", "anthropic", "gemini", "azure"]
"""A wire format's family: `/v1/chat/completions`, `/v1/responses` and `/v1/embeddings`; `/v1/messages`; Gemini's
`generateContent` and `streamGenerateContent`; OpenAI's formats at Azure's paths.
"""
ClientProvider = Literal["openai", "anthropic"]
"""The families that the harness's own client speaks: for judges, simulated users and reflectors."""

_DEFAULTS: dict[Provider, tuple[str | None, str | None]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "azure": (None, "AZURE_OPENAI_API_KEY"),
}
_AT_ONE_ADDRESS: tuple[Provider, ...] = ("openai", "anthropic")
"""What a compatible server is expected to speak if the suite names no `providers`."""


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
    """The price of a million tokens; input that is read from or written to a cache is priced as input if
    it has no price of its own.
    """

    input_usd_per_mtok: float = Field(ge=0)
    """US dollars for a million input tokens."""
    output_usd_per_mtok: float = Field(ge=0)
    """US dollars for a million output tokens."""
    cached_input_usd_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars for a million input tokens that the provider had cached. None: as input."""
    cache_write_usd_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars for a million input tokens that the provider puts into its cache. None: as input."""


class ModelSpec(Frozen):
    """The suite's `model:` section. Without `providers`, one address serves all wire formats, or OpenAI's own does."""

    base_url: str | None = None
    """A compatible server that speaks the wire formats; None: the providers' own."""
    api_key: str | None = None
    """Name of the environment variable that holds the key."""
    providers: dict[Provider, ModelServer] = {}
    """Family of wire formats (`openai`, `anthropic`, `gemini`, `azure`) -> where it is served. Empty: one
    address serves those of OpenAI and Anthropic."""
    double: bool = False
    """States that a double answers in place of the model: a program with rules, or a stub. Its recordings are marked,
    and so are reports whose figures depend on them.
    """
    mode: ModelMode = "replay"
    """The mode unless the command line sets another one."""
    prices: dict[str, Price] | str = {}
    """By model, by the beginning of its name (the longest that fits), or by a pattern in which `*` stands for any text
    (the first that fits). A text is a file beside suite.yaml that holds them, with the packaged list behind it, or
    `packaged` for that list alone."""
    allow: tuple[str, ...] = ()
    """Top-level fields of a request that are passed on beside the known ones; `hosted_tools`: the provider may run
    tools of its own (web search, code, remote MCP), outside of the sandbox."""
    models: tuple[str, ...] = ()
    """The models that the agent may ask; none: any."""
    ignore: tuple[str | VolatilePart, ...] = ()
    """What is left out of the cassette key of a request, beside what never matters: a top-level field (`store`), a
    JSON pointer (`/messages/0`), or a part of texts (`{regex: "Today is [^.]*"}`), such as a time in a prompt."""
    rate_limit: Rate | None = None
    """Of each provider (`20/s`, `100/60s`), over all trials together; live calls only."""
    timeout_s: float = Field(default=300.0, gt=0)
    """Seconds for the reply to begin, and between its pieces."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return _address(value)

    @model_validator(mode="after")
    def _every_provider_has_an_address(self) -> "ModelSpec":
        for provider, server in self.servers.items():
            if server.base_url is None:
                raise ValueError(f"providers.{provider} needs `base_url`, the resource's endpoint")
        return self

    @property
    def provenance(self) -> Provenance:
        """The provenance of every live reply."""
        return "double" if self.double else "service"

    @property
    def servers(self) -> dict[Provider, ModelServer]:
        """Every provider that the agent may reach, with address and key filled in."""
        declared: dict[Provider, ModelServer] = dict(self.providers)
        if not declared:
            declared = (
                {"openai": ModelServer()} if self.base_url is None else dict.fromkeys(_AT_ONE_ADDRESS, ModelServer())
            )
        return {provider: self._with_address_and_key(provider, server) for provider, server in declared.items()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys."""
        keys = [server.api_key for server in self.servers.values() if server.api_key is not None]
        return tuple(dict.fromkeys(keys))

    def price_of(self, model: str) -> Price | None:
        """None if no price is declared for it."""
        name = entry_of(self.priced, model)
        return None if name is None else self.priced[name]

    @property
    def priced(self) -> Mapping[str, Price]:
        """The prices of a loaded suite, which has those of its list too."""
        return {} if isinstance(self.prices, str) else self.prices

    def _with_address_and_key(self, provider: Provider, server: ModelServer) -> ModelServer:
        usual_url, usual_key = _DEFAULTS[provider]
        base_url = server.base_url or self.base_url
        if provider == "azure":  # every resource has an address of its own
            return server.model_copy(
                update={"base_url": base_url, "api_key": server.api_key or self.api_key or usual_key}
            )
        key = server.api_key or self.api_key or (usual_key if base_url is None else None)
        return server.model_copy(update={"base_url": base_url or usual_url, "api_key": key})


def entry_of(entries: Mapping[str, object], model: str) -> str | None:
    """The entry for a model: its name or the longest beginning of it, else the first pattern with `*` that fits."""
    matching = [name for name in entries if model == name or model.startswith(f"{name}-")]
    if matching:
        return max(matching, key=len)
    return next((name for name in entries if "*" in name and fnmatchcase(model, name)), None)


def _address(value: str | None) -> str | None:
    if value is not None:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError(f"expected an http(s) URL, found {value!r}")
    return value


# The server of one model that the harness itself asks: a judge, a simulated user, a check of meaning.


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
    rate_limit: Rate | None = None
    """Requests in a time, at most (`20/s`, `100/60s`). None: no limit of our own."""
    timeout_s: float = Field(default=60.0, gt=0)
    """The timeout of a request in seconds."""

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
        """The names of the keys; none if no model is asked."""
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
    cost_usd: float | None = Field(default=None, gt=0)
    """What the model may cost in a run, which stops there."""

    @property
    def sampled(self) -> JsonObject:
        """The parameters of each request."""
        sampled: JsonObject = {"max_tokens": self.max_tokens}
        return sampled if self.temperature is None else {**sampled, "temperature": self.temperature}

    @model_validator(mode="after")
    def _budget_needs_prices(self) -> "RecordedModel":
        if self.cost_usd is not None and not self.prices:
            raise ValueError("`cost_usd` needs `prices`, or the cost is not known")
        return self


PACKAGED: Final = "packaged"


class PriceList(Frozen):
    """A file of prices and limits."""

    as_of: str
    """When the prices were looked up."""
    models: dict[str, Price] = {}
    """Names and patterns as in `prices` of a suite."""


def with_price_list(spec: ModelSpec, folder: Path) -> ModelSpec:
    """The section with the prices of the list that it names; a file precedes the packaged list.

    Raises InvalidDocument for a file that is not there or is not a list.
    """
    if not isinstance(spec.prices, str):
        return spec
    packaged = Path(str(files("harness.suite").joinpath("prices.yaml")))
    paths = [packaged] if spec.prices == PACKAGED else [folder / spec.prices, packaged]
    first, *rest = [read_document(path, PriceList).models for path in paths]
    prices = first | {name: price for one in rest for name, price in one.items() if name not in first}
    return spec.model_copy(update={"prices": prices})
