"""Whole tables as JSON, and what changed between two readings of them: rows added, removed and changed, by key."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.frozen import JsonObject, JsonValue, canonical_json, digest_of_text

MOST_LISTED = 200
"""Rows of one kind and table that are listed; `more` counts the others."""


class QueryFailed(Exception):
    """The database refused the question, in its own words: a table is gone, a file is no database."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """All rows of one table. `key` names the columns that tell its rows apart; empty: the whole row does."""

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


def _change(before: Table | None, after: Table | None, ignored: frozenset[str]) -> JsonObject:
    told: JsonObject = {}
    if before is None or after is None:
        told["table"] = "added" if before is None else "removed"
    old = Table(key=(), rows=()) if before is None else _without(before, ignored)
    new = Table(key=(), rows=()) if after is None else _without(after, ignored)
    told |= {"rows": len(new.rows), "digest": digest_of_rows(new)}
    return told | (_by_key(old, new) if _is_keyed(old, new) else _by_row(old, new))


def digest_of_rows(table: Table) -> str:
    """Sha-256 over the rows in the order of their key, so that it does not depend on where they lie on the disk."""
    rows = sorted((_place(table, row), canonical_json(row)) for row in table.rows)
    return digest_of_text("\n".join(text for _, text in rows))


def _without(table: Table, ignored: frozenset[str]) -> Table:
    if not ignored:
        return table
    rows = tuple({column: value for column, value in row.items() if column not in ignored} for row in table.rows)
    return Table(key=tuple(column for column in table.key if column not in ignored), rows=rows)


def _is_keyed(old: Table, new: Table) -> bool:
    """Whether the key tells all rows of both apart."""
    if not new.key or old.key != new.key:
        return False
    return all(len({_place(table, row) for row in table.rows}) == len(table.rows) for table in (old, new))


def _by_key(old: Table, new: Table) -> JsonObject:
    was = {_place(old, row): row for row in old.rows}
    now = {_place(new, row): row for row in new.rows}
    changed = [_changed(new.key, was[place], now[place]) for place in sorted(was.keys() & now.keys())]
    return {
        **_listed("added", [now[place] for place in sorted(now.keys() - was.keys())]),
        **_listed("removed", [was[place] for place in sorted(was.keys() - now.keys())]),
        **_listed("changed", [one for one in changed if one is not None]),
    }


def _by_row(old: Table, new: Table) -> JsonObject:
    was, now = Counter(map(canonical_json, old.rows)), Counter(map(canonical_json, new.rows))
    rows = {canonical_json(row): row for row in (*old.rows, *new.rows)}
    return {
        **_listed("added", [rows[text] for text in sorted((now - was).elements())]),
        **_listed("removed", [rows[text] for text in sorted((was - now).elements())]),
    }


def _changed(key: Iterable[str], was: JsonObject, now: JsonObject) -> JsonObject | None:
    columns = [
        column
        for column in {**was, **now}
        if column not in was or column not in now or canonical_json(was[column]) != canonical_json(now[column])
    ]
    if not columns:
        return None
    return {
        "key": {column: now[column] for column in key},
        "before": {column: was[column] for column in columns if column in was},
        "after": {column: now[column] for column in columns if column in now},
    }


def _listed(kind: str, rows: Sequence[JsonObject]) -> JsonObject:
    if not rows:
        return {}
    listed: list[JsonValue] = [*rows[:MOST_LISTED]]
    more: JsonObject = {f"more_{kind}": len(rows) - MOST_LISTED} if len(rows) > MOST_LISTED else {}
    return {kind: listed, **more}


def _place(table: Table, row: JsonObject) -> str:
    return canonical_json([row.get(column) for column in table.key] if table.key else row)
