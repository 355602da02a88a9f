"""Whole tables as JSON, and what changed between two readings of them: rows added, removed and changed, by key."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harness.values import JsonObject, canonical_json, digest_of_text

MOST_LISTED = 200
"""The number of listed rows of one kind and table; `more` counts the others."""


class QueryFailed(Exception):
    """The database rejected the query, with its own message: a table is missing, or a file is not a database."""


class Unmeasurable(Exception):
    """The files cannot be measured within the limits, as the message describes; the agent has caused that."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """All rows of one table. `key` names the columns that identify its rows; if it is empty, the whole row does."""

    key: tuple[str, ...]
    rows: tuple[JsonObject, ...]


Tables = Mapping[str, Table]


def changes(before: Tables, after: Tables, ignore: Mapping[str, Sequence[str]]) -> JsonObject:
    """For each table its number of rows, a digest of them in the order of the key, and what changed.

    The columns that `ignore` names for a table are left out of everything.
    """
    return {
        name: _change(before.get(name), after.get(name), frozenset(ignore.get(name, ())))
        for name in sorted({*before, *after})
    }


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One row with its key and its content as canonical JSON, each made once."""

    place: str
    text: str
    row: JsonObject


def _change(before: Table | None, after: Table | None, ignored: frozenset[str]) -> JsonObject:
    tables: JsonObject = {}
    if before is None or after is None:
        tables["table"] = "added" if before is None else "removed"
    key = () if before is None or after is None or before.key != after.key else after.key
    key = tuple(column for column in key if column not in ignored)
    old, new = _rows(before, key, ignored), _rows(after, key, ignored)
    tables |= {"rows": len(new), "digest": _digest(new)}
    return tables | (_by_key(key, old, new) if key and _is_apart(old) and _is_apart(new) else _by_row(old, new))


def _rows(table: Table | None, key: tuple[str, ...], ignored: frozenset[str]) -> list[_Row]:
    """The rows in the order of their key."""
    if table is None:
        return []
    rows = table.rows
    if ignored:
        rows = tuple({column: value for column, value in row.items() if column not in ignored} for row in rows)
    found = []
    for row in rows:
        text = canonical_json(row)
        place = canonical_json([row.get(column) for column in key]) if key else text
        found.append(_Row(place=place, text=text, row=row))
    return sorted(found, key=lambda one: (one.place, one.text))


def _digest(rows: Sequence[_Row]) -> str:
    return digest_of_text("\n".join(one.text for one in rows))


def _is_apart(rows: Sequence[_Row]) -> bool:
    """Whether the key is unique over all rows."""
    return len({one.place for one in rows}) == len(rows)


def _by_key(key: Sequence[str], old: Sequence[_Row], new: Sequence[_Row]) -> JsonObject:
    was, now = {one.place: one for one in old}, {one.place: one for one in new}
    stayed = ((was[one.place], one) for one in new if one.place in was)
    return {
        **_listed_rows("added", [one.row for one in new if one.place not in was]),
        **_listed_rows("removed", [one.row for one in old if one.place not in now]),
        **_listed_rows("changed", [_changed_row(key, one.row, two.row) for one, two in stayed if one.text != two.text]),
    }


def _by_row(old: Sequence[_Row], new: Sequence[_Row]) -> JsonObject:
    was, now = Counter(one.text for one in old), Counter(one.text for one in new)
    rows = {one.text: one.row for one in (*old, *new)}
    return {
        **_listed_rows("added", [rows[text] for text in sorted((now - was).elements())]),
        **_listed_rows("removed", [rows[text] for text in sorted((was - now).elements())]),
    }


def _changed_row(key: Iterable[str], was: JsonObject, now: JsonObject) -> JsonObject:
    columns = [
        column
        for column in {**was, **now}
        if column not in was or column not in now or canonical_json(was[column]) != canonical_json(now[column])
    ]
    return {
        "key": {column: now[column] for column in key},
        "before": {column: was[column] for column in columns if column in was},
        "after": {column: now[column] for column in columns if column in now},
    }


def _listed_rows(kind: str, rows: Sequence[JsonObject]) -> JsonObject:
    if not rows:
        return {}
    listed: list[JsonValue] = [*rows[:MOST_LISTED]]
    more: JsonObject = {f"more_{kind}": len(rows) - MOST_LISTED} if len(rows) > MOST_LISTED else {}
    return {kind: listed, **more}
