"""Rows of the state that a suite changes: what its trials leave differently in the probes' tables.

A table is a list of objects, or an object of objects that is not the whole probe; its rows are named by their ids. A
list of other values is one item, because its elements have no name.
"""

from collections.abc import Iterator, Sequence

from harness.trace import Trial
from harness.values import JsonObject, JsonValue, canonical_json

_ABSENT = ""
_FEWEST = 2
"""Objects of an object that make it a table by their number alone; fewer are parts of a whole."""


def rows_of_states(trials: Sequence[Trial]) -> tuple[list[str], list[str]]:
    """The names of all rows that any trial left, and of those that trials left differently."""
    seen = [(probe, value) for trial in trials for probe, value in trial.states.items()]
    probes, ends = [probe for probe, _ in seen], [dict(_rows(probe, value)) for probe, value in seen]
    every = list(dict.fromkeys(name for end in ends for name in end))
    changed = []
    for name in every:
        # a row that is absent in another end of its probe was added or removed there
        own = [end.get(name, _ABSENT) for probe, end in zip(probes, ends, strict=True) if _is_of(name, probe)]
        if len(set(own)) > 1:
            changed.append(name)
    return sorted(every), changed


def _is_of(name: str, probe: str) -> bool:
    return name == probe or name.startswith((f"{probe}.", f"{probe}["))


def _rows(place: str, value: JsonValue, *, is_inner: bool = False) -> Iterator[tuple[str, str]]:
    """(name, content) of each row below a place."""
    match value:
        case list() if value and all(isinstance(row, dict) for row in value):
            yield from _named(place, [row for row in value if isinstance(row, dict)])
        case list():
            yield place, canonical_json(value)
        case dict() if is_inner and _is_table(value):
            yield from ((f"{place}[{key}]", canonical_json(row)) for key, row in value.items())
        case dict():
            for name, inner in value.items():
                yield from _rows(f"{place}.{name}", inner, is_inner=True)
        case _:
            return


def _is_table(value: JsonObject) -> bool:
    """Whether the object maps ids to rows: several objects with the same names of fields."""
    rows = [row for row in value.values() if isinstance(row, dict)]
    alike = {frozenset(row) for row in rows}
    return len(rows) == len(value) >= _FEWEST and len(alike) == 1


def _named(place: str, rows: list[JsonObject]) -> Iterator[tuple[str, str]]:
    key = _key(rows)
    seen: dict[str, int] = {}
    for row in rows:
        name = canonical_json(row)[:80] if key is None else str(row[key])
        seen[name] = seen.get(name, 0) + 1
        number = "" if seen[name] == 1 else f" #{seen[name]}"
        yield f"{place}[{name}{number}]", canonical_json(row)


def _key(rows: list[JsonObject]) -> str | None:
    """The field that names the rows: `id`, one that ends with it, or `name`; None where no such field tells them
    apart.
    """
    shared = [name for name in rows[0] if all(name in row for row in rows)]
    wanted = ["id", *(name for name in shared if name.endswith(("_id", "Id", "_key"))), "key", "code", "name"]
    for name in wanted:
        is_id = name in shared and all(isinstance(row[name], str | int) for row in rows)
        if is_id and len({row[name] for row in rows}) == len(rows):
            return name
    return None
