"""Changes by an intervention to model requests: another model is named, and texts of prompts are replaced."""

from collections.abc import Sequence

from harness.case import ModelChange, TrialVariant
from harness.upstream import ModelExchange
from harness.values import JsonValue


class ModelChanges:
    """The changes of one variant, and how many requests the agent has made."""

    def __init__(self, changes: Sequence[ModelChange]) -> None:
        self._changes = tuple(changes)
        self._made = 0

    def apply(self, exchange: ModelExchange) -> bool:
        """Applies the changes that are due to the request; returns whether it precedes all of them, so that it must be
        answered as it was recorded.
        """
        number = self._made
        self._made += exchange.endpoint.wire is not None
        due = [item for item in self._changes if number >= item.requests_before]
        exchange.unchanged_body = exchange.body if due else None
        for item in due:
            for text in item.texts:
                exchange.body = {
                    name: _replaced(value, text.before, text.after) for name, value in exchange.body.items()
                }
            if item.model is not None and "model" in exchange.body:
                exchange.body = {**exchange.body, "model": item.model}
        return not due


def model_changes(variant: TrialVariant | None) -> ModelChanges | None:
    """None where no model request is changed."""
    layers = () if variant is None else variant.interventions
    changes = [item.asks_model for item in layers if item.asks_model is not None]
    return ModelChanges(changes) if changes else None


def _replaced(value: JsonValue, before: str, after: str) -> JsonValue:
    match value:
        case str():
            return value.replace(before, after)
        case list():
            return [_replaced(item, before, after) for item in value]
        case dict():
            return {name: _replaced(item, before, after) for name, item in value.items()}
        case _:
            return value
