"""The database as SQL: the same state gives the same bytes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

_TABLES = (
    "stores",
    "products",
    "aliases",
    "offers",
    "substitutes",
    "recipes",
    "recipe_items",
    "shoppers",
    "orders",
    "order_items",
    "carts",
    "cart_lines",
)


def canonical_dump(database: Path) -> Iterator[str]:
    """SQL that gives this database again, statement by statement: tables in a fixed order, rows ordered by key."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        for table in _TABLES:
            (schema,) = db.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
            ).fetchone()
            yield " ".join(str(schema).split()) + ";"
        for table in _TABLES:
            columns = list(db.execute(f"PRAGMA table_info({table})"))
            keys = ", ".join(name for _, name, *_, key in sorted(columns, key=lambda column: column[5]) if key)
            quoted = " || ', ' || ".join(f"quote({column[1]})" for column in columns)
            for (values,) in db.execute(f"SELECT {quoted} FROM {table} ORDER BY {keys}"):
                yield f"INSERT INTO {table} VALUES ({values});"
