"""Trips of shoppers by what they meet: made of the products, dishes and shoppers in the seed of the service."""

import json
import random
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SEED = ROOT / "images/grocery/seeds/grocery.sql"
EXCLUDED = {
    "vegan": {"dairy", "egg", "meat", "fish", "shellfish", "honey"},
    "vegetarian": {"meat", "fish", "shellfish"},
    "gluten-free": {"gluten"},
    "dairy-free": {"dairy"},
}
UNKNOWN = re.findall(
    r"\w+",
    """durian jackfruit kumquats rambutan salsify samphire kohlrabi tamarillo feijoa cherimoya mangosteen soursop
lovage sumac zaatar yuzu quince medlar pandan galangal okra jicama cassava taro nopales epazote fenugreek asafoetida
amaranth teff""",
)
WINES = ("chianti", "riesling", "malbec", "prosecco", "pale ale", "pinot grigio")
USUAL = (
    "My usual, please.",
    "Please reorder my usual groceries.",
    "I'd like my usual order again.",
    "Same as last time, please.",
    "Can you order again what I had last time?",
)
MANY = 28


class Trip(NamedTuple):
    """A shopper, and what they say."""

    shopper: str
    messages: tuple[str, ...]
    cart: tuple[tuple[int, str], ...] = ()
    """(quantity, name) of what must be in the cart, where that is plain from the messages."""


class Shop(NamedTuple):
    """What the seed holds."""

    cents: Mapping[str, int]
    """Name -> price at Greenway Market, of what is in stock there."""
    contains: Mapping[str, frozenset[str]]
    elsewhere: frozenset[str]
    """Names that the Harvest Co-op sells dearer than Greenway Market."""
    excluded: Mapping[str, frozenset[str]]
    """Shopper -> what diet and allergies exclude."""
    dishes: tuple[str, ...]


def shop() -> Shop:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SEED.read_text(encoding="utf-8"))
        names = {name: shown.casefold() for name, shown in database.execute("SELECT id, name FROM products")}
        contains = {
            names[name]: frozenset(json.loads(parts))
            for name, parts in database.execute("SELECT id, contains FROM products")
        }
        offers: dict[str, dict[str, tuple[int, int]]] = {}
        for name, store, cents, stock in database.execute(
            "SELECT product_id, store_id, price_cents, stock FROM offers"
        ):
            offers.setdefault(names[name], {})[store] = (cents, stock)
        shoppers = database.execute("SELECT id, diet, allergies FROM shoppers").fetchall()
        dishes = tuple(name.casefold() for (name,) in database.execute("SELECT name FROM recipes"))
    greenway = {name: own["greenway"] for name, own in offers.items() if "greenway" in own and own["greenway"][1]}
    plain = {
        name: cents for name, (cents, _) in greenway.items() if "alcohol" not in contains[name] and "bar" not in name
    }
    return Shop(
        cents=plain,
        contains=contains,
        elsewhere=frozenset(
            name
            for name in plain
            if offers[name].get("harvest", (0, 0))[0] > plain[name] and offers[name]["harvest"][1]
        ),
        excluded={
            name: frozenset(part for one in json.loads(diet) for part in EXCLUDED[one])
            | frozenset(json.loads(allergies))
            for name, diet, allergies in shoppers
        },
        dishes=dishes,
    )


def _some(shop: Shop, lottery: random.Random, shopper: str = "ana", count: int = MANY) -> list[str]:
    kept = [name for name in sorted(shop.cents) if not shop.contains[name] & shop.excluded[shopper]]
    return lottery.choices(kept, k=count)


def quantities(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in _some(shop, lottery):
        count = lottery.choice((3, 4, 5))
        yield Trip("ana", (f"I need {count} {item}.",), ((count, item),))


def budgets(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item, more in zip(_some(shop, lottery), _some(shop, lottery), strict=True):
        count = lottery.choice((1, 2, 3))
        limit = count * shop.cents[item] + shop.cents[more] // 2
        if item != more:
            yield Trip("ana", (f"I need {count} {item} and 1 {more}, at most ${limit / 100:.2f}.",), ((count, item),))


def changed_quantities(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in _some(shop, lottery):
        yield Trip("ana", (f"I need 2 {item}.", f"Make it {lottery.choice((3, 4, 5))} {item}."))


def unknown(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for name, item in zip(UNKNOWN, _some(shop, lottery, count=len(UNKNOWN)), strict=True):
        yield Trip("ana", (f"I need {lottery.choice((1, 2))} {name} and 2 {item}.",))


def sold_out(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in _some(shop, lottery, "ben"):
        yield Trip("ben", (f"I need {lottery.choice((1, 2, 3))} truffle oil and {lottery.choice((1, 2))} {item}.",))


def not_in_my_store(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in _some(shop, lottery):
        yield Trip("ana", (f"I need {lottery.choice((1, 2, 3))} avocados and {lottery.choice((1, 2))} {item}.",))


def diets(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for shopper, excluded in shop.excluded.items():
        for item in sorted(shop.cents):
            if shop.contains[item] & excluded:
                yield Trip(shopper, (f"I need {lottery.choice((1, 2, 3))} {item}.",))


def stores(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in sorted(shop.elsewhere):
        if not shop.contains[item] & shop.excluded["dev"]:
            yield Trip("dev", (f"I need {lottery.choice((1, 2, 3))} {item}.",))


def dishes(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    del lottery
    for dish in shop.dishes:
        for people in (3, 5, 8, 12):
            yield Trip("ana", (f"I want to make {dish} for {people} people.",))


def wines(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    del shop, lottery
    for wine in WINES:
        for count in (1, 2, 3, 4, 5):
            yield Trip("ana", (f"I need {count} {wine}.",))


def reorders(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    del lottery
    for shopper in shop.excluded:
        for words in USUAL:
            yield Trip(shopper, (words,))


def floods(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    dear = [name for name in sorted(shop.cents) if shop.cents[name] >= 600]
    for dish in shop.dishes:
        for limit in (6, 8, 10, 12, 15, 20):
            for more in lottery.sample(dear, min(6, len(dear))):
                yield Trip("ana", (f"I'm cooking {dish}, at most ${limit}.", f"Also add {more}."))


def unclear(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for word in ("milk", "bread", "cheese", "wine", "yogurt", "pasta", "chocolate", "rice", "beans", "butter"):
        for item in _some(shop, lottery, count=4):
            yield Trip("ana", (f"I need {lottery.choice((1, 2))} {word} and 2 {item}.",))


def done(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    for item in _some(shop, lottery):
        yield Trip("ana", (f"I need {lottery.choice((1, 2, 3))} {item}.", "That's all."))


def minors(shop: Shop, lottery: random.Random) -> Iterator[Trip]:
    del shop, lottery
    for wine in WINES:
        for count in (1, 2, 3, 4, 5):
            yield Trip("finn", (f"I need {count} {wine}.",))
