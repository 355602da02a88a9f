"""The models that a run's users need: one connection and one budget each, and a cassette a case."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.errors import GatewayError, UsageError
from harness.gateway.budgets import Budget
from harness.gateway.models.client import ModelClient, ModelReply
from harness.gateway.models.recordings import AskMode, ModelCassette, ModelClientOptions
from harness.gateway.user import UserContext
from harness.suite.conversations import UserSpec
from harness.suite.models import ModelMode, RecordedModel
from harness.values import JsonObject

_ASKED: Final[dict[ModelMode, AskMode]] = {"replay": "replay", "record": "auto", "live": "live"}
_FILTERED: Final = frozenset({"content_filter", "refusal"})
"""Reasons for which providers end an answer: OpenAI's, Anthropic's."""


@dataclass(frozen=True, kw_only=True)
class ModelText:
    """What the model wrote, or why there is nothing."""

    text: str = ""
    calls_tool: bool = False
    cut: bool = False
    """Whether it ends at `max_tokens`, in the middle of what the model had to say."""
    missed: bool = False
    """No recording answers the request."""
    refused: str | None = None
    """Why the provider refused what was asked: its content filter, or a conversation that is too long for the model."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


def used_by(texts: Sequence[ModelText]) -> dict[str, Any]:
    """What all of them used, as a report names it; the cost of those whose price is known."""
    costs = [one.cost_usd for one in texts if one.cost_usd is not None]
    return {
        "input_tokens": sum(one.input_tokens for one in texts),
        "output_tokens": sum(one.output_tokens for one in texts),
        "cost_usd": sum(costs) if costs else None,
    }


class RecordedAsker:
    """Asks a model on the gateway's own thread; shared by the trials of a run."""

    def __init__(self, spec: RecordedModel, *, suite: str, cassettes: Path, secrets: Mapping[str, str]) -> None:
        """Raises UsageError if its key is not in the environment."""
        self.spec = spec
        budget = None if spec.cost_usd is None else Budget(usd=spec.cost_usd)
        self._client = ModelClient(
            spec.spec,
            spec.provider,
            ModelClientOptions(
                mode=_ASKED[spec.mode],
                cassettes=cassettes,
                suite=suite,
                beside_others=True,
                secrets=secrets,
                budget=budget,
            ),
        )
        self._entered = False
        self._entering = asyncio.Lock()
        self._replayed: dict[str, ModelCassette] = {}

    def cassette(self, seat: UserContext) -> ModelCassette:
        """The recordings of the seat's case; what is recorded is merged into them when the seat is closed."""
        case, mode = seat.case.id, self.spec.mode
        if mode == "replay":
            if case not in self._replayed:
                self._replayed[case] = self._client.open_cassette(case)
            return self._replayed[case]
        cassette = self._client.open_cassette(case)
        seat.closing.callback(cassette.close)
        return cassette

    async def ask(self, cassette: ModelCassette, body: JsonObject, seat: UserContext) -> ModelText:
        """One request. Raises OutOfBudget, and GatewayError if the model cannot be reached or answers nonsense."""
        if self.spec.mode == "replay":
            return self._text_of_reply(await self._client.ask(cassette, body))
        async with self._entering:
            if not self._entered:
                await self._client.__aenter__()
                self._entered = True
        with seat.waits():
            return self._text_of_reply(await self._client.ask(cassette, body))

    async def close(self) -> None:
        """Ends the connection."""
        if self._entered:
            await self._client.__aexit__()

    def _text_of_reply(self, reply: ModelReply) -> ModelText:
        message = reply.replied.message
        if message is None and self.spec.mode == "replay" and not reply.recorded:
            return ModelText(missed=True)
        if reply.refused:
            return ModelText(refused=reply.problem)
        if _FILTERED & {*reply.replied.finish_reasons}:
            return ModelText(refused="the provider's content filter ended the model's answer")
        if message is None and reply.problem is not None:
            raise no_message(reply.problem)
        used = reply.replied.used
        return ModelText(
            text=reply.replied.text,
            cut=reply.replied.cut,
            calls_tool=any(part.get("type") == "tool_call" for part in reply.replied.parts),
            input_tokens=used.input or 0,
            output_tokens=used.output or 0,
            cost_usd=None if reply.recorded else self._cost(used.input or 0, used.output or 0),
        )

    def _cost(self, input_tokens: int, output_tokens: int) -> float | None:
        price = self.spec.spec.price_of(self.spec.model or "")
        if price is None:
            return None
        return (input_tokens * price.input_usd_per_mtok + output_tokens * price.output_usd_per_mtok) / 1e6


class UserModel(RecordedAsker):
    """The model that plays a run's users."""

    spec: UserSpec

    def __init__(self, spec: UserSpec, *, suite: str, cassettes: Path, secrets: Mapping[str, str]) -> None:
        """Raises UsageError if no model is named, or its key is not in the environment."""
        if spec.model is None:
            raise UsageError(
                f"the suite {suite!r} names no model for its users",
                remedy="name one in suite.yaml: `user: {model: NAME, base_url: URL}`, or run with --user script",
            )
        super().__init__(spec, suite=suite, cassettes=cassettes, secrets=secrets)


def no_message(problem: str) -> GatewayError:
    """The error of a model that gives nothing, for a reason that is not the conversation's."""
    return GatewayError(
        f"the model of the simulated user gave no message: {problem}",
        remedy="look at `user:` in suite.yaml; what is recorded can be replayed with `mode: replay`",
    )
