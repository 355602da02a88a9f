"""In what a state differs from the one that a reference leaves: rows and columns, places in JSON, changed files.

Both states were reached from the same snapshot, so that equal changes mean equal states.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.case import changed_at, without
from harness.score.comparison.jsonvalue import equality_key, json_equal
from harness.trace import EndState, FileChange
from harness.values import JsonObject, JsonValue
from harness.visible_text import one_line

_LONGEST = 160
_LONGEST_PLACE = 400
_LONGEST_PROBLEM = 600
_MOST_PAIRS: Final = 10_000
"""Of rows that are compared with each other to find the columns that differ; the agent decides how many there are."""
_KINDS: Final = {"file": "a regular file", "directory": "a folder", "link": "a link", "other": "a special file"}


@dataclass(frozen=True, kw_only=True)
class StateDifference:
    """One difference."""

    place: str
    """Probe with table, row and column, or with JSON pointer; else the path of a file."""
    problem: str
    """What is there, and what the reference leaves."""

    @property
    def words(self) -> str:
        """In one line of bounded length: names in a state, and paths, may be of any length and have any character."""
        place, half = one_line(self.place), _LONGEST_PLACE // 2
        if len(place) > _LONGEST_PLACE:
            place = f"{place[:half]}...{place[-half:]}"
        return f"{place} {one_line(self.problem)[:_LONGEST_PROBLEM]}"


def value_differences(
    probe: str, got: JsonValue, wanted: JsonValue, ignored: Sequence[str], unordered: Sequence[str]
) -> Iterator[StateDifference]:
    """Of two JSON values, by JSON pointer; also inside of texts that are JSON.

    `ignored` are pointers to parts that are left out, `unordered` pointers to lists whose order does not count.
    """
    yield from _of_values(probe, _compared(got, ignored, unordered), _compared(wanted, ignored, unordered))


def row_differences(probe: str, got: Sequence[JsonValue], wanted: Sequence[JsonValue]) -> Iterator[StateDifference]:
    """Of two results of a query, in any order of their rows."""
    yield from _of_rows(f"{probe}: row", *_unlike(got, wanted))


def table_differences(probe: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    """Of two readings of whole tables, each given by its changes since the snapshot."""
    for name in sorted({*got, *wanted}):
        place = f"{probe}: table {name!r}"
        mine, theirs = got.get(name), wanted.get(name)
        if not isinstance(mine, dict) or not isinstance(theirs, dict):
            yield StateDifference(place=place, problem=_presence(mine is not None))
        elif mine.get("table") != theirs.get("table") and "removed" in (mine.get("table"), theirs.get("table")):
            yield StateDifference(place=place, problem=_presence(mine.get("table") != "removed"))
        elif mine.get("digest") != theirs.get("digest"):
            found = list(_of_table(place, mine, theirs))
            yield from found or [StateDifference(place=place, problem="holds other rows than the reference leaves")]


def file_differences(got: EndState, wanted: EndState, takes: Callable[[str], bool]) -> Iterator[StateDifference]:
    """Of the files that changed since the snapshot (content, mode, kind, target of a link), where `takes` a path."""
    mine = {change.path: change for change in got.changes if takes(change.path)}
    theirs = {change.path: change for change in wanted.changes if takes(change.path)}
    for path in sorted({*mine, *theirs}):
        problem = _file_problem(mine.get(path), theirs.get(path))
        if problem is not None:
            yield StateDifference(place=path, problem=problem)


def _compared(value: JsonValue, ignored: Sequence[str], unordered: Sequence[str]) -> JsonValue:
    from harness.cassette import unfolded

    value = unfolded(value)
    for pointer in sorted(ignored, key=_in_lists, reverse=True):  # each index is that of the whole list
        value = without(value, pointer)
    for pointer in sorted(unordered, key=lambda one: one.count("/"), reverse=True):  # what lies deepest first
        value = changed_at(value, pointer, _in_any_order)
    return value


def _in_lists(pointer: str) -> list[tuple[int, str]]:
    """A key that orders pointers by the indices in them, and by name elsewhere."""
    parts = pointer.split("/")
    return [(len(part) if part.isascii() and part.isdigit() else -1, part) for part in parts]


class _Unordered(list[JsonValue]):
    """A list whose order does not count."""


def _in_any_order(value: JsonValue) -> JsonValue:
    return _Unordered(sorted(value, key=equality_key)) if isinstance(value, list) else value


def _of_values(place: str, got: JsonValue, wanted: JsonValue) -> Iterator[StateDifference]:
    match got, wanted:
        case dict(), dict():
            yield from _of_members(place, got, wanted)
        case _Unordered(), _Unordered():
            yield from _of_rows(f"{place}: item", *_unlike(got, wanted))
        case list(), list():
            for index, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
                yield from _of_values(f"{place}/{index}", mine, theirs)
            if len(got) != len(wanted):
                counts = f"has {len(got)} items, and the reference leaves {len(wanted)}"
                yield StateDifference(place=place, problem=counts)
        case _:
            if not json_equal(got, wanted):
                yield _changed_value(place, got, wanted)


def _of_members(place: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    for name in sorted({*got, *wanted}):
        inner = f"{place}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in got and name in wanted:
            yield from _of_values(inner, got[name], wanted[name])
        else:
            yield StateDifference(place=inner, problem=_presence(name in got))


def _changed_value(place: str, got: JsonValue, wanted: JsonValue) -> StateDifference:
    return StateDifference(place=place, problem=f"is {_short(got)}, and the reference leaves {_short(wanted)}")


def _presence(is_there: bool) -> str:
    if is_there:
        return "is there, and the reference does not leave it"
    return "is not there, and the reference leaves it"


def _of_table(place: str, got: JsonObject, wanted: JsonObject) -> Iterator[StateDifference]:
    cut = [kind for kind in ("added", "removed", "changed") if f"more_{kind}" in got or f"more_{kind}" in wanted]
    if cut:
        counts = f"{_count(got, cut[0])} rows were {cut[0]}, and by the reference {_count(wanted, cut[0])}"
        yield StateDifference(place=place, problem=f"holds other rows than the reference leaves: {counts}")
        return
    new, not_added = _unlike(_listed(got, "added"), _listed(wanted, "added"))
    gone, not_removed = _unlike(_listed(got, "removed"), _listed(wanted, "removed"))
    yield from _of_rows(f"{place}, row", new + not_removed, not_added + gone)
    yield from _of_changes(place, _by_key(got), _by_key(wanted))


def _of_changes(place: str, got: dict[str, JsonObject], wanted: dict[str, JsonObject]) -> Iterator[StateDifference]:
    for key in sorted({*got, *wanted}):
        mine, theirs = got.get(key, {}), wanted.get(key, {})
        before = _members(mine, "before") | _members(theirs, "before")
        left, expected = before | _members(mine, "after"), before | _members(theirs, "after")
        for column in sorted(before.keys() | left.keys() | expected.keys()):
            if not json_equal(left.get(column), expected.get(column)):
                at = f"{place}, row {key}, column {column!r}"
                yield _changed_value(at, left.get(column), expected.get(column))


def _of_rows(place: str, surplus: list[JsonValue], missing: list[JsonValue]) -> Iterator[StateDifference]:
    """Rows that are equal in at least half of their columns are taken for one row, whose columns differ."""
    rest = list(missing)
    are_paired = len(surplus) * len(missing) <= _MOST_PAIRS
    for row in surplus:
        like = max(rest, key=lambda one: _alike(row, one), default=None) if are_paired else None
        if like is None or not isinstance(row, dict) or not isinstance(like, dict) or _alike(row, like) < _HALF:
            yield StateDifference(place=f"{place} {_short(row)}", problem=_presence(True))
            continue
        rest.remove(like)
        for column in sorted({*row, *like}):
            at = f"{place} {_short(row)}, column {column!r}"
            if column not in row or column not in like:  # null is a value, and not the same
                yield StateDifference(place=at, problem=_presence(column in row))
            elif not json_equal(row[column], like[column]):
                yield _changed_value(at, row[column], like[column])
    for row in rest:
        yield StateDifference(place=f"{place} {_short(row)}", problem=_presence(False))


_HALF: Final = 0.5


def _alike(one: JsonValue, other: JsonValue) -> float:
    """The share of columns that two rows have in common."""
    if not isinstance(one, dict) or not isinstance(other, dict) or not one:
        return 0.0
    same = [name for name in one if name in other and json_equal(one[name], other[name])]
    return len(same) / len({*one, *other})


def _unlike(got: Iterable[JsonValue], wanted: Iterable[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """The rows that only the first has, and those that only the second has; equal rows count as often as they are."""
    mine, theirs = [*got], [*wanted]
    texts = {equality_key(row): row for row in (*mine, *theirs)}
    first, second = Counter(map(equality_key, mine)), Counter(map(equality_key, theirs))
    surplus, missing = (first - second).elements(), (second - first).elements()
    return [texts[text] for text in sorted(surplus)], [texts[text] for text in sorted(missing)]


def _listed(change: JsonObject, kind: str) -> list[JsonValue]:
    rows = change.get(kind)
    return rows if isinstance(rows, list) else []


def _by_key(change: JsonObject) -> dict[str, JsonObject]:
    rows = [row for row in _listed(change, "changed") if isinstance(row, dict)]
    return {equality_key(row.get("key")): row for row in rows}


def _members(row: JsonObject, name: str) -> JsonObject:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _count(change: JsonObject, kind: str) -> int:
    more = change.get(f"more_{kind}")
    return len(_listed(change, kind)) + (more if isinstance(more, int) else 0)


def _file_problem(got: FileChange | None, wanted: FileChange | None) -> str | None:
    if wanted is None:
        return None if got is None else f"was {got.change}, and the reference does not change it"
    if got is None:
        return f"was not {wanted.change}, as it is by the reference"
    if "deleted" in (got.change, wanted.change):
        return None if got.change == wanted.change else f"was {got.change}, and by the reference it is {wanted.change}"
    return _content_problem(got, wanted)


def _content_problem(got: FileChange, wanted: FileChange) -> str | None:
    if got.kind != wanted.kind:
        return f"is {_KINDS[got.kind]}, and the reference leaves {_KINDS[wanted.kind]}"
    if got.link != wanted.link:
        return f"leads to {got.link!r}, and the reference's leads to {wanted.link!r}"
    if got.sha256 != wanted.sha256:
        return f"has other content than the reference leaves ({got.size} and {wanted.size} bytes)"
    if got.mode != wanted.mode:
        return f"has mode {got.mode or 0:o}, and the reference leaves {wanted.mode or 0:o}"
    return None


def _short(value: JsonValue) -> str:
    text = equality_key(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
