"""What a drive-thru order is judged by: the order itself, the way to it, and that the guest was answered.

An order is compared as a set of lines: their order never matters. All shares are exact fractions until the end, so that
a perfect order is 1.0 and not 0.9999999999999999.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from harness.api import Evidence, Frozen, JsonObject, JsonValue, Observation, ToolCall

NUMBER, MOST_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,4})?"), 1000
LOOKUP, ADD = "lookup_menu_item", "add_item_to_order"
ITEM, QUANTITY, MODIFIERS, SIZE = (Fraction(part, 100) for part in (40, 30, 20, 10))


class OrderLine(Frozen):
    """One line of an order; names and prices, which the service adds, are not judged."""

    model_config = ConfigDict(extra="ignore")

    item_id: str
    quantity: int = Field(gt=0)
    size: str | None = None
    modifiers: frozenset[str] = frozenset()


class OrderCorrectness(Frozen):
    """How much of the expected order stands on the actual one, from 0 to 1.

    Mean over max(expected lines, actual lines) of each pair's 40 % item + 30 % quantity (smaller / larger) + 20 %
    modifiers (Jaccard; two empty sets are 1) + 10 % size (equal or not). Lines pair by item id; where several share an
    id, by the assignment with the highest sum. Both orders empty: 1. Only one of them empty: 0.
    None where the case expects no order, or the order at the end is not known.
    """

    name: ClassVar[str] = "order_correctness"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        expected, actual = _orders(evidence, "order")
        if expected is None or actual is None:
            return None, _unknown(expected)
        return order_correctness(expected, actual), f"{len(expected)} lines expected, {len(actual)} ordered"


class ToolCallAccuracy(Frozen):
    """Whether items were looked up before any was added.

    Items expected: 1 where the first look-up precedes the first add, 0.5 where both were made in the wrong order, 0.3
    where only one of the two was made, 0 where neither. No items expected: 1 where nothing was added, else 0.
    Only calls that were answered without an error count: an add that was refused added nothing.
    None where the case expects no order.
    """

    name: ClassVar[str] = "tool_call_accuracy"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        expected = _lines(evidence.case.expected)
        if expected is None:
            return None, _unknown(expected)
        made = [call.name for call, seen in _answered(evidence) if seen.error is None]
        if not expected:
            return (0.0, "something was added") if ADD in made else (1.0, "nothing was added, as expected")
        match (LOOKUP in made, ADD in made):
            case (True, True) if made.index(LOOKUP) < made.index(ADD):
                return 1.0, "looked up, then added"
            case (True, True):
                return 0.5, "added before anything was looked up"
            case (False, False):
                return 0.0, "neither looked up nor added"
            case (looked_up, _):
                return 0.3, "looked up, never added" if looked_up else "added, never looked up"


class NoHallucinatedItems(Frozen):
    """1 where every item came from the menu as the agent saw it, else 0.

    An item is hallucinated where its id stands on the order at the end, or in any attempted add (refused ones too),
    without having stood in the answer to a look-up of this trial: before the add, or anywhere for the order.
    None where the order at the end is not known.
    """

    name: ClassVar[str] = "no_hallucinated_items"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        ordered = _lines(evidence.trial.states.get("order"))
        if ordered is None:
            return None, "the order at the end is not known"
        shown: set[str] = set()
        invented: set[str] = set()
        observations = evidence.trial.trajectory.observations
        for call in evidence.trial.trajectory.calls:
            invented |= _added_ids(call) - shown
            shown |= _shown_ids(call, observations.get(call.id))
        invented |= {line.item_id for line in ordered} - shown
        if invented:
            return 0.0, f"never looked up: {', '.join(sorted(invented))}"
        return 1.0, "every item was looked up"


class OrderMatches(Frozen):
    """Passes where the order at the end is the expected one, line by line; None where it is not known."""

    version: ClassVar[str] = "1"

    probe: str = "order"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        expected, actual = _orders(evidence, self.probe)
        if expected is None or actual is None:
            return None, _unknown(expected), {}
        missing = [_words(line) for line in expected if line not in actual]
        extra = [_words(line) for line in actual if line not in expected]
        seen: JsonObject = {"missing": list[JsonValue](missing), "extra": list[JsonValue](extra)}
        if order_correctness(expected, actual) == 1.0:
            return True, "the order is the expected one", seen
        parts = [f"missing: {'; '.join(missing)}"] * bool(missing) + [f"extra: {'; '.join(extra)}"] * bool(extra)
        return False, "; ".join(parts) or "the lines are right, their number is not", seen


class GuestAnswered(Frozen):
    """Passes where the agent's last word to the guest is some text: an agent that does nothing serves nobody."""

    version: ClassVar[str] = "1"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        answer = evidence.trial.trajectory.final_output
        if isinstance(answer, str) and answer.strip():
            return True, "the guest was answered", {}
        return False, "the guest was never answered", {}


class OrderClosed(Frozen):
    """Passes where the order is finalized exactly if the guest ordered something; None where it is not known."""

    version: ClassVar[str] = "1"

    probe: str = "order"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        expected, _ = _orders(evidence, self.probe)
        state = evidence.trial.states.get(self.probe)
        if expected is None or not isinstance(state, dict) or "status" not in state:
            return None, _unknown(expected), {}
        status, wanted = state["status"], "finalized" if expected else "open"
        return status == wanted, f"the order is {status}, expected {wanted}", {"status": status}


class NumbersAreTrue(Frozen):
    """Passes where every number in the answer to the guest stands in an answer of a tool, or in the guest's words.

    Prices are said in dollars and told in cents. An answer without numbers passes.
    """

    version: ClassVar[str] = "1"

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        trajectory = evidence.trial.trajectory
        said = [Fraction(found) for found in NUMBER.findall(str(trajectory.final_output or ""))[:MOST_NUMBERS]]
        told = {Fraction(found) for found in NUMBER.findall(evidence.case.task)}
        for seen in trajectory.observations.values():
            told |= set(_numbers(seen.content))
        untrue = sorted({number for number in said if number not in told and number * 100 not in told})
        if untrue:
            return False, f"no tool told {', '.join(f'{float(number):g}' for number in untrue)}", {}
        return True, "every number was told by a tool", {}


def _numbers(value: JsonValue) -> list[Fraction]:
    match value:
        case bool():
            return []
        case int() | float():
            return [Fraction(str(value))]
        case list():
            return [number for item in value for number in _numbers(item)]
        case dict():
            return [number for item in value.values() for number in _numbers(item)]
        case _:
            return []


def order_correctness(expected: Sequence[OrderLine], actual: Sequence[OrderLine]) -> float:
    """See OrderCorrectness."""
    if not expected or not actual:
        return 1.0 if not expected and not actual else 0.0
    total = Fraction(0)
    for item_id in {line.item_id for line in expected}:
        wanted = [line for line in expected if line.item_id == item_id]
        given = [line for line in actual if line.item_id == item_id]
        total += _best_sum([[_likeness(one, other) for other in given] for one in wanted])
    return float(total / max(len(expected), len(actual)))


def _likeness(one: OrderLine, other: OrderLine) -> Fraction:
    quantity = Fraction(min(one.quantity, other.quantity), max(one.quantity, other.quantity))
    either = one.modifiers | other.modifiers
    modifiers = Fraction(len(one.modifiers & other.modifiers), len(either)) if either else Fraction(1)
    return ITEM + QUANTITY * quantity + MODIFIERS * modifiers + SIZE * (one.size == other.size)


def _best_sum(values: list[list[Fraction]]) -> Fraction:
    """The highest sum with at most one value from each row and column (Hungarian method, cubic in the lines)."""
    if not values or not values[0]:
        return Fraction(0)
    if len(values) > len(values[0]):
        values = [list(column) for column in zip(*values, strict=True)]
    rows, columns = len(values), len(values[0])
    row_price, column_price = [Fraction(0)] * (rows + 1), [Fraction(0)] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        path = _shortest_path(values, owner, row_price, column_price)
        for column, before in path:
            owner[column] = owner[before]
    pairs = ((owner[column], column) for column in range(1, columns + 1) if owner[column])
    return sum((values[row - 1][column - 1] for row, column in pairs), Fraction(0))


def _shortest_path(
    values: list[list[Fraction]], owner: list[int], row_price: list[Fraction], column_price: list[Fraction]
) -> list[tuple[int, int]]:
    """The (column, column before it) along which rows move so that the new row, owner of column 0, gets a place."""
    columns = len(column_price)
    slack: list[Fraction | None] = [None] * columns
    before = [0] * columns
    visited: list[int] = []
    column = 0
    while owner[column]:
        visited.append(column)
        row = owner[column]
        open_columns = [other for other in range(1, columns) if other not in visited]
        for other in open_columns:
            cost = -values[row - 1][other - 1] - row_price[row] - column_price[other]
            known = slack[other]
            if known is None or cost < known:
                slack[other], before[other] = cost, column
        step, column = min((slack[other] or Fraction(0), other) for other in open_columns)
        for other in visited:
            row_price[owner[other]] += step
            column_price[other] -= step
        slack = [None if gap is None or other in visited else gap - step for other, gap in enumerate(slack)]
    path = []
    while column:
        path.append((column, before[column]))
        column = before[column]
    return path


def _orders(evidence: Evidence, probe: str) -> tuple[list[OrderLine] | None, list[OrderLine] | None]:
    return _lines(evidence.case.expected), _lines(evidence.trial.states.get(probe))


def _lines(order: JsonValue) -> list[OrderLine] | None:
    if not isinstance(order, dict) or "items" not in order:
        return None
    try:
        return TypeAdapter(list[OrderLine]).validate_python(order["items"])
    except ValidationError:
        return None


def _unknown(expected: list[OrderLine] | None) -> str:
    return "the case expects no order" if expected is None else "the order at the end is not known"


def _answered(evidence: Evidence) -> list[tuple[ToolCall, Observation]]:
    observations = evidence.trial.trajectory.observations
    return [(call, observations[call.id]) for call in evidence.trial.trajectory.calls if call.id in observations]


def _added_ids(call: ToolCall) -> set[str]:
    item_id = (call.arguments or {}).get("item_id")
    return {item_id} if call.name == ADD and isinstance(item_id, str) else set()


def _shown_ids(call: ToolCall, seen: Observation | None) -> set[str]:
    if call.name != LOOKUP or seen is None or seen.error is not None or not isinstance(seen.content, dict):
        return set()
    items = seen.content.get("items")
    ids = [item.get("id") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return {item_id for item_id in ids if isinstance(item_id, str)}


def _words(line: OrderLine) -> str:
    size = f" {line.size}" if line.size else ""
    changes = f" ({', '.join(sorted(line.modifiers))})" if line.modifiers else ""
    return f"{line.quantity} x{size} {line.item_id}{changes}"
