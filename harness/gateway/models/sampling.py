"""Sampling parameters of a request, and those that a model rejects.

Current models reject parameters that older ones accepted: `temperature` other than the default, `top_p`, `seed`, or
`max_tokens`, which is `max_completion_tokens` there; some reject a limit of a text in the schema of the answer. The
provider's error names the parameter, which is then left out of further requests, and reported.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from pydantic import Field, JsonValue

from harness.gateway.models.formats import ModelAnswer
from harness.suite.models import ClientProvider
from harness.values import Frozen, JsonObject, NotJson, parse_json

_RENAMED: Final = "max_completion_tokens"
_BOUND: Final = "maxLength"
_SCHEMAS: Final = ("response_format", "tools")
"""Where a request holds the schema of its answer."""
_LEARNABLE: Final = ("top_p", "seed", "temperature", "max_tokens", _RENAMED, _BOUND)
"""The order in which parameters are dropped when an error names several."""
_NEEDED: Final[dict[ClientProvider, frozenset[str]]] = {"anthropic": frozenset({"max_tokens"}), "openai": frozenset()}
_STATUSES: Final = frozenset({400, 422})
_REFUSAL: Final = re.compile(
    r"unsupported|not support|deprecated|not permitted|not allowed|cannot|can't|unrecogni[sz]ed|unknown|unexpected"
    r"|extra (?:inputs|fields)|only the default|incompatible|removed|must not",
    re.IGNORECASE,
)
_SHOWN: Final = 300
_TOKENS: Final = 4096


class Sampling(Frozen):
    """The parameters that are sent with every request; null omits a parameter."""

    temperature: float | None = Field(default=0, ge=0, le=2)
    """The sampling temperature; 0 selects the most probable tokens."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """The share of probability mass of the most probable tokens to sample from."""
    seed: int | None = None
    """The seed, if the provider accepts one."""
    max_tokens: int | None = Field(default=_TOKENS, gt=0)
    """The maximum tokens of the answer, thoughts included. Null: the provider's own limit, or 4096 if its wire format
    needs one."""

    def parameters(self, provider: ClientProvider) -> JsonObject:
        """The parameters in the form of a request."""
        values: JsonObject = {name: value for name, value in self.model_dump().items() if value is not None}
        if provider == "anthropic":
            values.pop("seed", None)  # the wire format has no seed
            values.setdefault("max_tokens", _TOKENS)
        return values


@dataclass(kw_only=True)
class SentParameters:
    """The sampling parameters of one model's requests, without those that it has refused."""

    provider: ClientProvider
    sampling: Sampling | None = None
    """None leaves the parameters of the request's body."""
    refused: dict[str, str] = field(default_factory=dict)
    """Parameter -> the provider's message."""
    _renames: bool = False

    def complete(self, body: JsonObject) -> JsonObject:
        """The body with all parameters; those of the body itself take precedence."""
        return body if self.sampling is None else self.sampling.parameters(self.provider) | body

    def accepted(self, body: JsonObject) -> JsonObject:
        """The complete body without the parameters that were refused."""
        return self._without(body, frozenset(self.refused), renames=self._renames)

    def learn(self, sent: JsonObject, answer: ModelAnswer) -> str | None:
        """Parses an error; returns the parameter that it refuses, or None if it has another reason."""
        if answer.status not in _STATUSES:
            return None
        message, parameter = _problem_in(answer.body)
        for name in _LEARNABLE:
            names_it = parameter == name or re.search(rf"(?<![\w.]){name}(?!\w)", message) is not None
            if not _has(sent, name) or name in _NEEDED[self.provider] or not names_it:
                continue
            if not _REFUSAL.search(message):
                continue
            self.refused[name] = message[:_SHOWN]
            self._renames = self._renames or (name == "max_tokens" and _RENAMED in message)
            return name
        return None

    @staticmethod
    def _without(body: JsonObject, names: frozenset[str], *, renames: bool) -> JsonObject:
        kept = {name: value for name, value in body.items() if name not in names}
        if renames and "max_tokens" in body and _RENAMED not in names:
            kept[_RENAMED] = body["max_tokens"]
        if _BOUND in names:
            kept |= {place: _unbounded(kept[place]) for place in _SCHEMAS if place in kept}
        return kept


def _has(body: JsonObject, name: str) -> bool:
    if name != _BOUND:
        return name in body
    return any(_unbounded(body[place]) != body[place] for place in _SCHEMAS if place in body)


def _unbounded(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _unbounded(inner) for name, inner in value.items() if name != _BOUND}
    return [_unbounded(inner) for inner in value] if isinstance(value, list) else value


def _problem_in(body: bytes) -> tuple[str, str | None]:
    """An error's message and the parameter that it names, in the formats of OpenAI, Anthropic and compatible
    servers.
    """
    text = body.decode("utf-8", "replace")
    try:
        value = parse_json(body)
    except NotJson:
        return text, None
    error = value.get("error", value) if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return text, None
    parameter = error.get("param")
    return str(error.get("message") or text), parameter if isinstance(parameter, str) else None
