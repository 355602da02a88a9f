"""Stores, products, shoppers and carts in SQLite, loaded from a SQL dump."""

import json
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grocery_service.refusal import Refusal
from grocery_service.search import Match, entry, search

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Line:
    """So many of a product, from one store."""

    product_id: str
    store_id: str
    quantity: int


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
        self._products = {row["id"]: dict(row) for row in self._all("SELECT * FROM products ORDER BY position")}
        self._entries = [
            entry(
                row["id"],
                row["position"],
                [row["name"], *(one["name"] for one in self._aliases(row["id"]))],
                row["category"],
            )
            for row in self._products.values()
        ]

    def close(self) -> None:
        self._db.close()

    def stores(self) -> Row:
        rows = self._all("SELECT id, name, kind, delivery_cents, minutes FROM stores ORDER BY position")
        return {"stores": [dict(row) for row in rows]}

    def products(self, query: str, store_id: str | None, limit: int) -> Row:
        """Products that fit the query and that some store (or the one named) offers, best first."""
        if store_id is not None:
            self._check_store(store_id)
        found: list[Row] = []
        for hit in search(self._entries, query):
            product = self._product(hit.product_id, store_id)
            if product["offers"] and len(found) < limit:
                found.append({**product, "match": Match(hit.match).name.lower()})
        return {"query": query, "products": found}

    def substitutes(self, product_id: str) -> Row:
        """What may stand in for a product, as the catalogue lists it."""
        self._check_product(product_id)
        rows = self._all("SELECT substitute_id FROM substitutes WHERE product_id = ? ORDER BY position", product_id)
        return {
            "product_id": product_id,
            "substitutes": [self._product(row["substitute_id"], None) for row in rows],
        }

    def recipes(self, query: str) -> Row:
        """Recipes whose name shares a word with the query, best first."""
        rows = self._all("SELECT * FROM recipes ORDER BY position")
        entries = [entry(row["id"], row["position"], [row["name"]], "") for row in rows]
        by_id = {row["id"]: row for row in rows}
        return {"query": query, "recipes": [self._recipe(by_id[hit.product_id]) for hit in search(entries, query)[:2]]}

    def preferences(self, shopper_id: str) -> Row:
        row = self._shopper(shopper_id)
        listed = {name: json.loads(row[name]) for name in ("diet", "allergies", "brands")}
        plain = ("name", "preferred_store", "substitutions", "address", "card_ending")
        return {
            "shopper_id": row["id"],
            **listed,
            **{name: row[name] for name in plain},
            "age_confirmed": bool(row["age_confirmed"]),
        }

    def orders(self, shopper_id: str, limit: int) -> Row:
        """The shopper's orders, newest first."""
        self._shopper(shopper_id)
        rows = self._all(
            "SELECT id, placed_on FROM orders WHERE shopper_id = ? ORDER BY placed_on DESC, id DESC", shopper_id
        )
        return {"shopper_id": shopper_id, "orders": [self._order(row) for row in rows[:limit]]}

    def cart(self, session: str) -> Row:
        with self._lock:
            return self._cart(session)

    def add(self, session: str, line: Line) -> Row:
        """The cart with the line in it; an equal line that is there already grows by the quantity."""
        with self._lock:
            held = self._held(session, line)
            return self._set(session, line, held + line.quantity)

    def set_quantity(self, session: str, line: Line) -> Row:
        """The cart with that many of the line; 0 takes it out."""
        with self._lock:
            if not self._held(session, line):
                raise Refusal(404, "not_in_cart", f"{line.product_id!r} of {line.store_id!r} is not in the cart")
            return self._set(session, line, line.quantity)

    def place(self, session: str) -> Row:
        with self._lock:
            self._refuse_placed(session)
            if not self._cart(session)["items"]:
                raise Refusal(409, "empty_cart", "the cart holds nothing; no order can be placed")
            self._db.execute("UPDATE carts SET status = 'placed' WHERE session = ?", (session,))
            return self._cart(session)

    def _set(self, session: str, line: Line, quantity: int) -> Row:
        self._refuse_placed(session)
        stock = self._stock(line)
        if quantity > stock:
            raise Refusal(409, "out_of_stock", f"{line.store_id} has {stock} of {line.product_id}", in_stock=stock)
        self._db.execute("INSERT OR IGNORE INTO carts VALUES (?, 'open')", (session,))
        place = (session, line.product_id, line.store_id)
        if quantity == 0:
            self._db.execute("DELETE FROM cart_lines WHERE session = ? AND product_id = ? AND store_id = ?", place)
        elif self._held(session, line):
            self._db.execute(
                "UPDATE cart_lines SET quantity = ? WHERE session = ? AND product_id = ? AND store_id = ?",
                (quantity, *place),
            )
        else:
            self._db.execute(
                "INSERT INTO cart_lines SELECT ?, coalesce(max(position), 0) + 1, ?, ?, ?"
                " FROM cart_lines WHERE session = ?",
                (*place, quantity, session),
            )
        return self._cart(session)

    def _cart(self, session: str) -> Row:
        status = self._all("SELECT status FROM carts WHERE session = ?", session)
        rows = self._all("SELECT * FROM cart_lines WHERE session = ? ORDER BY position", session)
        items = [self._line(row) for row in rows]
        return {
            "status": status[0]["status"] if status else "open",
            "items": items,
            "subtotal_cents": sum(item["price_cents"] for item in items),
        }

    def _line(self, row: sqlite3.Row) -> Row:
        (offer,) = self._all(
            "SELECT price_cents FROM offers WHERE product_id = ? AND store_id = ?", row["product_id"], row["store_id"]
        )
        return {
            "product_id": row["product_id"],
            "name": self._products[row["product_id"]]["name"],
            "store_id": row["store_id"],
            "quantity": row["quantity"],
            "price_cents": offer["price_cents"] * row["quantity"],
        }

    def _product(self, product_id: str, store_id: str | None) -> Row:
        product = self._products[product_id]
        rows = self._all(
            "SELECT store_id, price_cents, stock FROM offers WHERE product_id = ? ORDER BY position", product_id
        )
        return {
            "product_id": product_id,
            "name": product["name"],
            "category": product["category"],
            "size": product["size"],
            "contains": json.loads(product["contains"]),
            "goes_with": json.loads(product["goes_with"]),
            "description": product["description"],
            "offers": [dict(row) for row in rows if store_id in (None, row["store_id"])],
        }

    def _recipe(self, row: sqlite3.Row) -> Row:
        items = self._all("SELECT item, quantity FROM recipe_items WHERE recipe_id = ? ORDER BY position", row["id"])
        return {
            "recipe_id": row["id"],
            "name": row["name"],
            "servings": row["servings"],
            "items": [dict(item) for item in items],
        }

    def _order(self, row: sqlite3.Row) -> Row:
        items = self._all(
            "SELECT product_id, store_id, quantity FROM order_items WHERE order_id = ? ORDER BY position", row["id"]
        )
        named = [{**dict(item), "name": self._products[item["product_id"]]["name"]} for item in items]
        return {"order_id": row["id"], "placed_on": row["placed_on"], "items": named}

    def _shopper(self, shopper_id: str) -> sqlite3.Row:
        rows = self._all("SELECT * FROM shoppers WHERE id = ?", shopper_id)
        if not rows:
            raise Refusal(404, "unknown_shopper", f"no shopper has the id {shopper_id!r}")
        return rows[0]

    def _aliases(self, product_id: str) -> list[sqlite3.Row]:
        return self._all("SELECT name FROM aliases WHERE product_id = ? ORDER BY name", product_id)

    def _held(self, session: str, line: Line) -> int:
        rows = self._all(
            "SELECT quantity FROM cart_lines WHERE session = ? AND product_id = ? AND store_id = ?",
            session,
            line.product_id,
            line.store_id,
        )
        return int(rows[0]["quantity"]) if rows else 0

    def _stock(self, line: Line) -> int:
        self._check_product(line.product_id)
        self._check_store(line.store_id)
        rows = self._all(
            "SELECT stock FROM offers WHERE product_id = ? AND store_id = ?", line.product_id, line.store_id
        )
        if not rows:
            raise Refusal(404, "not_offered", f"{line.store_id} does not offer {line.product_id}")
        return int(rows[0]["stock"])

    def _check_product(self, product_id: str) -> None:
        if product_id not in self._products:
            raise Refusal(404, "unknown_product", f"no product has the id {product_id!r}")

    def _check_store(self, store_id: str) -> None:
        if not self._all("SELECT id FROM stores WHERE id = ?", store_id):
            raise Refusal(404, "unknown_store", f"no store has the id {store_id!r}")

    def _refuse_placed(self, session: str) -> None:
        if self._cart(session)["status"] == "placed":
            raise Refusal(409, "already_placed", "the order is placed; the cart takes no more changes")

    def _all(self, statement: str, *values: str) -> list[sqlite3.Row]:
        return self._db.execute(statement, values).fetchall()
