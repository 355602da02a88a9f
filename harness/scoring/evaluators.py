"""Evaluators of dataset experiments, used as metrics: plain functions that users of other tools already have.

Item-level: `(*, output, expected_output, **kwargs)`; `input` (the task) and `metadata` (case id, category, tags and the
like) are passed if the function accepts them. Run-level: `(*, item_results, **kwargs)`. Each returns one evaluation
or a list of them: an object or a mapping with `name`, `value` and `comment`, or a bare number or truth value. A text is
not a figure: its value is not known, and the text becomes the explanation.
"""

import asyncio
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from pydantic import JsonValue

from harness.errors import UsageError
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Score, Scorecard
from harness.values import JsonObject

_VERSION: Final = "1"
_ITEM: Final = frozenset({"input", "output", "expected_output", "metadata"})
_RUN: Final = frozenset({"item_results"})
Level = Literal["item", "run"]
TrialKey = tuple[str, int]
"""Case id and attempt."""


@dataclass(frozen=True, kw_only=True)
class EvaluatorResult:
    """The result of an evaluator for an item, in the form that run-level evaluators read."""

    name: str
    value: float | None
    comment: str = ""


@dataclass(frozen=True, kw_only=True)
class Item:
    """The input of a trial and its results."""

    input: str
    output: JsonValue
    expected_output: JsonValue
    metadata: JsonObject


@dataclass(frozen=True, kw_only=True)
class ItemResult:
    """One trial in a run-level evaluator's `item_results`."""

    item: Item
    output: JsonValue
    evaluations: list[EvaluatorResult] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ItemEvaluator:
    """An item-level function, called for every measured trial."""

    name: str
    function: Callable[..., Any]
    version: ClassVar[str] = _VERSION

    def scores(self, evidence: Evidence) -> tuple[Score, ...]:
        """Raises whatever the function raises."""
        item = item_of(evidence)
        given: dict[str, object] = {
            "input": item.input,
            "output": item.output,
            "expected_output": item.expected_output,
            "metadata": item.metadata,
        }
        return _scores(self.name, _call_evaluator(self.function, given))


@dataclass(frozen=True, kw_only=True)
class RunEvaluator:
    """A run-level function, called once with what all trials gave."""

    name: str
    function: Callable[..., Any]
    version: ClassVar[str] = _VERSION

    def scores(self, scorecards: Sequence[Scorecard], items: Mapping[TrialKey, Item]) -> tuple[Score, ...]:
        """Raises whatever the function raises."""
        results = [
            _item_result(card, items[card.case_id, card.attempt])
            for card in scorecards
            if (card.case_id, card.attempt) in items
        ]
        return _scores(self.name, _call_evaluator(self.function, {"item_results": results}))


def item_of(evidence: Evidence) -> Item:
    """The item of a trial."""
    case = evidence.case
    metadata: JsonObject = {
        "case_id": case.id,
        "attempt": evidence.trial.attempt,
        "category": case.category,
        "difficulty": case.difficulty,
        "tags": list(case.tags),
        "outcome": evidence.trial.outcome,
    }
    output = evidence.trial.trajectory.final_output
    return Item(input=case.task, output=output, expected_output=case.expected_output, metadata=metadata)


def level_of(function: Callable[..., Any]) -> Level:
    """The level of an evaluator whose signature has no problem."""
    return "run" if "item_results" in inspect.signature(function).parameters else "item"


def signature_problem(function: Callable[..., Any]) -> str | None:
    """Explains why a function cannot be called as an evaluator of its level; None if it can."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "its parameters cannot be read"
    given, needed = (_ITEM, "output") if level_of(function) == "item" else (_RUN, "item_results")
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    named = {one.name: one for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    if needed not in named and not takes_all:
        return f"takes no `{needed}`"
    missing = [name for name, one in named.items() if one.default is one.empty and name not in given]
    positional = [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY]
    return f"asks for {', '.join(missing + positional)}, which no evaluator is given" if missing + positional else None


def _item_result(card: Scorecard, item: Item) -> ItemResult:
    results = [EvaluatorResult(name=one.metric, value=one.value, comment=one.explanation) for one in card.scores]
    return ItemResult(item=item, output=item.output, evaluations=results)


def _call_evaluator(function: Callable[..., Any], given: Mapping[str, object]) -> Any:
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    found = function(**{name: value for name, value in given.items() if takes_all or name in names})
    return asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found


async def _awaited(found: Any) -> Any:
    return await found


def _scores(name: str, found: Any) -> tuple[Score, ...]:
    several = found if isinstance(found, list | tuple) else [found]
    return tuple(_score(name, one) for one in several)


def _score(name: str, found: Any) -> Score:
    if isinstance(found, Mapping):
        own_name, value, comment = found.get("name"), found.get("value"), found.get("comment")
    elif hasattr(found, "value"):
        own_name, value, comment = getattr(found, "name", None), found.value, getattr(found, "comment", None)
    else:
        own_name, value, comment = None, found, None
    explanation = str(comment or "")
    if isinstance(value, str):
        explanation = f"{value!r}{': ' if explanation else ''}{explanation}"
        value = None
    return Score(metric=str(own_name or name), version=_VERSION, value=_finite_number(value), explanation=explanation)


def _finite_number(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not a finite number")
    return number


SUCCESS = "task_success"
"""The share of measured trials whose checks all passed."""
_SPEC = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(\S+)\s*")


def floor_of(floor: str) -> tuple[str, float]:
    """Metric and value of `METRIC=VALUE`. Raises UsageError for anything else."""
    found = _SPEC.fullmatch(floor)
    if found is None:
        raise UsageError(
            f"invalid floor {floor!r}: expected METRIC=VALUE", remedy="for example --fail-under task_success=0.9"
        )
    metric, text = found.groups()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(
            f"invalid floor {floor!r}: expected a number after `=`, found {text!r}",
            remedy="for example task_success=0.9",
        )
    return metric, value
