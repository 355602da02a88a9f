"""The table by tool: the number of calls, their faults, and their results."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from harness.report.figures.latency import Spread
from harness.score import EncodingFault, ParameterFault, Scorecard, ToolUse
from harness.values import Frozen

_Kind = TypeVar("_Kind", ParameterFault, EncodingFault)
_Uses = list[tuple[Scorecard, ToolUse]]
_MOST_CHOSEN: Final = 100
"""Names that the agent chose, with rows of their own."""


class ToolRow(Frozen):
    """One tool, or the calls of one model, over a run's trials."""

    name: str
    others: int = 0
    """If not 0: so many names that have no row of their own, together; at least so many, where trials share names."""
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
    """Most called first; what the agent itself named beyond the 100 most called names is one row, the last."""
    uses = _uses(cards)
    own = _by_name([one for one in uses if not one[1].others], lambda use: use.tool)
    rows = _rows(own, [one for one in uses if one[1].others], lambda use: use.undeclared)
    return tuple(row.model_copy(update={"latency": latencies.get(row.name)}) if not row.others else row for row in rows)


def by_model(cards: Iterable[Scorecard]) -> tuple[ToolRow, ...]:
    """Most calls first; empty where no model was seen. An agent may name models: they are bounded in the same way."""
    return _rows(_by_name(_uses(cards), lambda use: use.model), [], lambda _: True)


def _uses(cards: Iterable[Scorecard]) -> _Uses:
    return [(card, use) for card in cards for use in card.tool_use]


def _by_name(uses: _Uses, name_of: Callable[[ToolUse], str | None]) -> dict[str, _Uses]:
    parts: dict[str, _Uses] = {}
    for one in uses:
        name = name_of(one[1])
        if name is not None:
            parts.setdefault(name, []).append(one)
    return parts


def _rows(parts: dict[str, _Uses], rest: _Uses, is_chosen: Callable[[ToolUse], bool]) -> tuple[ToolRow, ...]:
    """`is_chosen`: whether the agent chose the name; `rest`: uses without a name of their own."""
    rows = [_row(name, own) for name, own in parts.items()]
    rows.sort(key=lambda row: (-row.calls, row.name))
    chosen = [row.name for row in rows if is_chosen(parts[row.name][0][1])]
    left_out = frozenset(chosen[_MOST_CHOSEN:])
    rest = [*rest, *(one for name in left_out for one in parts[name])]
    kept = tuple(row for row in rows if row.name not in left_out)
    if not rest:
        return kept
    names = max((use.others for _, use in rest), default=0) + len(left_out)
    return *kept, _row("other names", rest).model_copy(update={"others": names})


def _row(name: str, own: _Uses) -> ToolRow:
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
