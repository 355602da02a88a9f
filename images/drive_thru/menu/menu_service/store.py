"""The menu and the orders in SQLite: loaded from a SQL dump, dumped again as the same bytes every time."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from menu_service.search import Hit, SearchEntry, entry, search

Row = dict[str, Any]

_TABLES = ("items", "sizes", "modifiers", "aliases", "orders", "order_lines")


class Refusal(Exception):
    """A request that the service understands and does not grant; becomes the answer's status and error object."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"code": code, "message": message, **details}


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a guest asks for: one item in one size with its changes."""

    item_id: str
    quantity: int
    size: str | None
    modifiers: tuple[str, ...]


class Store:
    """One database; every public method is one transaction, and safe from many threads."""

    def __init__(self, database: str, seed: str) -> None:
        if database != ":memory:":
            Path(database).unlink(missing_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        # The state is thrown away with its container: waiting for the disk would only make each trial slower.
        self._db.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")
        self._db.executescript(seed)
        rows = self._all("SELECT * FROM items ORDER BY position")
        self._items = {row["id"]: self._item(row) for row in rows}
        self._entries = [self._entry(row) for row in rows]

    def close(self) -> None:
        self._db.close()

    def lookup(self, query: str, limit: int) -> list[Row]:
        """Items that fit the query, best first, with how they fit."""
        return [self._found(hit) for hit in search(self._entries, query, limit)]

    def add(self, session: str, line: Line) -> Row:
        """The order with the line in it; an equal line that is there already grows by the quantity."""
        item = self._items.get(line.item_id)
        if item is None:
            raise Refusal(404, "unknown_item", f"no item has the id {line.item_id!r}")
        size, modifiers = _size(item, line.size), _modifiers(item, line.modifiers)
        with self._lock:
            self._refuse_finalized(session)
            self._db.execute("INSERT OR IGNORE INTO orders VALUES (?, 'open')", (session,))
            same = (session, line.item_id, size, json.dumps(modifiers))
            grown = self._db.execute(
                "UPDATE order_lines SET quantity = quantity + ?"
                " WHERE session = ? AND item_id = ? AND size IS ? AND modifiers = ?",
                (line.quantity, *same),
            )
            if grown.rowcount == 0:
                self._db.execute(
                    "INSERT INTO order_lines SELECT ?, coalesce(max(position), 0) + 1, ?, ?, ?, ?"
                    " FROM order_lines WHERE session = ?",
                    (session, line.item_id, line.quantity, size, json.dumps(modifiers), session),
                )
            return self._order(session)

    def change(self, session: str, line: Line) -> Row:
        """The order with that many of the line; none takes it off. Size and modifiers say which line is meant."""
        item = self._items.get(line.item_id)
        if item is None:
            raise Refusal(404, "unknown_item", f"no item has the id {line.item_id!r}")
        place = (session, line.item_id, _size(item, line.size), json.dumps(_modifiers(item, line.modifiers)))
        same = "WHERE session = ? AND item_id = ? AND size IS ? AND modifiers = ?"
        with self._lock:
            self._refuse_finalized(session)
            if line.quantity:
                done = self._db.execute(f"UPDATE order_lines SET quantity = ? {same}", (line.quantity, *place))
            else:
                done = self._db.execute(f"DELETE FROM order_lines {same}", place)
            if done.rowcount == 0:
                raise Refusal(404, "not_on_order", f"{item['name']} like this is not on the order")
            return self._order(session)

    def order(self, session: str) -> Row:
        with self._lock:
            return self._order(session)

    def finalize(self, session: str) -> Row:
        with self._lock:
            self._refuse_finalized(session)
            if not self._order(session)["items"]:
                raise Refusal(409, "empty_order", "the order has no items; nothing can be finalized")
            self._db.execute("UPDATE orders SET status = 'finalized' WHERE session = ?", (session,))
            return self._order(session)

    def _refuse_finalized(self, session: str) -> None:
        if self._order(session)["status"] == "finalized":
            raise Refusal(409, "already_finalized", "the order is finalized and takes no more changes")

    def _order(self, session: str) -> Row:
        status = self._all("SELECT status FROM orders WHERE session = ?", session)
        rows = self._all("SELECT * FROM order_lines WHERE session = ? ORDER BY position", session)
        items = [self._line(row) for row in rows]
        return {
            "status": status[0]["status"] if status else "open",
            "items": items,
            "total_cents": sum(line["price_cents"] for line in items),
        }

    def _line(self, row: sqlite3.Row) -> Row:
        item, modifiers = self._items[row["item_id"]], json.loads(row["modifiers"])
        sizes = {size["name"]: size["price_cents"] for size in item["sizes"]}
        each = sizes.get(row["size"], item["price_cents"])
        each += sum(choice["price_cents"] for choice in item["modifiers"] if choice["name"] in modifiers)
        return {
            "item_id": item["id"],
            "name": item["name"],
            "quantity": row["quantity"],
            "size": row["size"],
            "modifiers": modifiers,
            "price_cents": each * row["quantity"],
        }

    def _found(self, hit: Hit) -> Row:
        return {**self._items[hit.item_id], "match": hit.match.name.lower(), "unmatched_words": list(hit.unmatched)}

    def _item(self, row: sqlite3.Row) -> Row:
        choices = "SELECT name, price_cents FROM {} WHERE item_id = ? ORDER BY position"
        return {
            "id": row["id"],
            "name": row["name"],
            "category": row["category"],
            "price_cents": row["price_cents"],
            "sizes": [dict(size) for size in self._all(choices.format("sizes"), row["id"])],
            "default_size": row["default_size"],
            "modifiers": [dict(choice) for choice in self._all(choices.format("modifiers"), row["id"])],
        }

    def _entry(self, row: sqlite3.Row) -> SearchEntry:
        aliases = self._all("SELECT name FROM aliases WHERE item_id = ? ORDER BY name", row["id"])
        names = [row["name"], *(alias["name"] for alias in aliases)]
        return entry(row["id"], row["position"], names, row["category"])

    def _all(self, statement: str, *values: str) -> list[sqlite3.Row]:
        return self._db.execute(statement, values).fetchall()


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


def _size(item: Row, size: str | None) -> str | None:
    offered = [choice["name"] for choice in item["sizes"]]
    if size is None:
        default: str | None = item["default_size"]
        return default
    if size not in offered:
        raise Refusal(422, "size_not_offered", f"{item['name']} does not come in size {size!r}", offered=offered)
    return size


def _modifiers(item: Row, asked: Sequence[str]) -> list[str]:
    offered = [choice["name"] for choice in item["modifiers"]]
    strange = [name for name in asked if name not in offered]
    if strange:
        raise Refusal(422, "modifier_not_offered", f"{item['name']} does not come with {strange[0]!r}", offered=offered)
    return [name for name in offered if name in asked]
