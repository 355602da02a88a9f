"""The table by tool: the number of calls, their faults, and their results."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from harness.report.figures.latency import Spread
from harness.score import EncodingFault, ParameterFault, Scorecard, ToolUse
from harness.values import Frozen

_Kind = TypeVar("_Kind", ParameterFault, EncodingFault)


class ToolRow(Frozen):
    """One tool, or the calls of one model, over a run's trials."""

    name: str
    calls: int
    trials: int
    """Trials in which the tool was called."""
    wrong: int
    """Wrong selections; see the metric `tool_selection`."""
    invalid: dict[ParameterFault, int]
    """Calls by what is wrong with their arguments."""
    encodings: dict[EncodingFault, int] = {}
    """Calls by how an argument that is right in substance is written wrongly."""
    errors: int
    recovered: int
    faults: int
    """Injected faults that a call triggered."""
    misses: int
    cost_usd: float | None
    """The cost of the model replies that decided the calls, divided among the calls of a reply; None where it is not
    known.
    """
    latency: Spread | None = None
    """Milliseconds of a call, real services only; None: replayed, or not measured."""

    @property
    def invalid_calls(self) -> int:
        return sum(self.invalid.values())


def by_tool(cards: Iterable[Scorecard], latencies: Mapping[str, Spread]) -> tuple[ToolRow, ...]:
    """Most called first."""
    rows = _rows(cards, lambda use: use.tool)
    return tuple(row.model_copy(update={"latency": latencies.get(row.name)}) for row in rows)


def by_model(cards: Iterable[Scorecard]) -> tuple[ToolRow, ...]:
    """Most calls first; empty where no model was seen."""
    return _rows(cards, lambda use: use.model)


def _rows(cards: Iterable[Scorecard], name_of: Callable[[ToolUse], str | None]) -> tuple[ToolRow, ...]:
    parts: dict[str, list[tuple[Scorecard, ToolUse]]] = {}
    for card in cards:
        for use in card.tool_use:
            name = name_of(use)
            if name is not None:
                parts.setdefault(name, []).append((card, use))
    rows = [_row(name, own) for name, own in parts.items()]
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.name)))


def _row(name: str, own: Sequence[tuple[Scorecard, ToolUse]]) -> ToolRow:
    uses = [use for _, use in own]
    costs = [use.cost_usd for use in uses if use.cost_usd is not None]
    return ToolRow(
        name=name,
        calls=sum(use.calls for use in uses),
        trials=len({(card.case_id, card.attempt) for card, _ in own}),
        wrong=sum(use.wrong for use in uses),
        invalid=_summed(use.invalid for use in uses),
        encodings=_summed(use.encodings for use in uses),
        errors=sum(use.errors for use in uses),
        recovered=sum(use.recovered for use in uses),
        faults=sum(use.faults for use in uses),
        misses=sum(use.misses for use in uses),
        cost_usd=round(sum(costs), 12) if costs else None,
    )


def _summed(counts: Iterable[Mapping[_Kind, int]]) -> dict[_Kind, int]:
    total: Counter[_Kind] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))
