"""The grocery service over real HTTP, as its own process."""

import sqlite3
import subprocess
import sys
from itertools import count

import pytest

from tests.suites.grocery.conftest import MARKET, SEED, Served

_sessions = count()


@pytest.fixture
def session() -> str:
    return f"shopper-{next(_sessions)}"


def found(market: Served, words: str) -> list[tuple[str, str]]:
    status, answer = market.ask("GET", f"/products?query={words.replace(' ', '+')}&limit=10")
    assert status == 200
    return [(one["product_id"], one["match"]) for one in answer["products"]]


def line(product_id: str, quantity: int, store_id: str = "greenway") -> dict[str, object]:
    return {"product_id": product_id, "store_id": store_id, "quantity": quantity}


def test_words_find_products_best_first(market):
    assert found(market, "oat milk")[0] == ("oat-milk", "exact")
    assert {match for _, match in found(market, "milk")[:3]} == {"all_words"}
    assert found(market, "dragonfruit") == []


def test_a_cart_grows_shrinks_and_is_placed(market, session):
    market.ask("POST", "/cart/items", line("bananas", 3), session)
    _, cart = market.ask("POST", "/cart/items", line("bananas", 1), session)
    assert [(one["product_id"], one["quantity"], one["price_cents"]) for one in cart["items"]] == [("bananas", 4, 116)]
    _, cart = market.ask("PUT", "/cart/items", line("bananas", 2), session)
    assert cart["subtotal_cents"] == 58
    assert market.ask("POST", "/cart/order", None, session)[1]["status"] == "placed"
    assert market.ask("POST", "/cart/items", line("bananas", 1), session)[1]["error"]["code"] == "already_placed"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (line("avocados", 1), 409, "out_of_stock"),
        (line("bananas", 31), 409, "out_of_stock"),
        (line("chianti", 1), 404, "not_offered"),
        (line("unicorn", 1), 404, "unknown_product"),
        (line("bananas", 1, "moon"), 404, "unknown_store"),
        (line("bananas", 0), 422, "invalid_request"),
        ({"product_id": "bananas"}, 422, "invalid_request"),
        ([], 400, "not_json"),
    ],
)
def test_what_cannot_be_added_is_refused_by_name(market, session, body, status, code):
    answered, answer = market.ask("POST", "/cart/items", body, session)
    assert (answered, answer["error"]["code"]) == (status, code)
    assert market.ask("GET", "/cart", None, session)[1]["items"] == []


def test_carts_are_kept_apart(market, session):
    market.ask("POST", "/cart/items", line("lemons", 1), session)
    assert market.ask("GET", "/cart", None, f"{session}-other")[1]["items"] == []


def test_the_dump_is_the_state_and_gives_it_again(market, session, database):
    market.ask("POST", "/cart/items", line("limes", 2), session)
    dump = [sys.executable, "-m", "grocery_service", "--dump", "--database", str(database)]
    first, second = (subprocess.run(dump, cwd=MARKET, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout
    again = sqlite3.connect(":memory:")
    again.executescript(first.stdout)
    assert again.execute("SELECT quantity FROM cart_lines WHERE session = ?", (session,)).fetchall() == [(2,)]


def test_the_seed_names_only_what_exists():
    db = sqlite3.connect(":memory:")
    db.executescript(f"PRAGMA foreign_keys = ON; {SEED.read_text(encoding='utf-8')}")
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert db.execute("SELECT count(*) FROM products").fetchone()[0] > 100
