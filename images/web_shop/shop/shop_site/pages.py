"""The shop's pages as HTML."""

from html import escape
from typing import Any

Item = dict[str, Any]

DELIVERY = ("Pick-up at the shop", "By bicycle", "By post")

STYLE = """
body { font: 16px/1.5 "DejaVu Sans", sans-serif; margin: 0; background: #f6f4ef; color: #23201a; }
header { background: #23443a; padding: 14px 32px; }
header a { color: #fff; margin-right: 24px; text-decoration: none; }
main { max-width: 860px; margin: 28px auto; background: #fff; padding: 8px 32px 32px; border-radius: 8px; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: 8px; border-bottom: 1px solid #ddd; text-align: left; }
.price { text-align: right; } .sold-out { color: #8a1f11; } .message { background: #fdecea; padding: 12px; }
button { background: #23443a; color: #fff; border: 0; padding: 8px 14px; border-radius: 4px; font: inherit; }
label { display: block; margin: 12px 0 4px; } input, select { font: inherit; padding: 6px; }
"""

SEARCH = """
const box = document.getElementById("search"), found = document.getElementById("found");
document.getElementById("search-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("/api/search?q=" + encodeURIComponent(box.value));
  const products = await answer.json();
  found.replaceChildren(...products.map((one) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = "/products/" + one.sku;
    link.textContent = one.name;
    item.append(link);
    return item;
  }));
  if (!products.length) found.textContent = "Nothing found.";
});
"""

SURE = """
document.getElementById("empty").addEventListener("submit", (event) => {
  if (!confirm("Empty your cart?")) event.preventDefault();
});
"""


def page(title: str, body: str, script: str = "") -> str:
    links = '<a href="/">Tiny Shop</a><a href="/cart">Cart</a><a href="/orders">Orders of today</a>'
    end = f"<script>{script}</script>" if script else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - Tiny Shop</title>'
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"></head><body><header>{links}</header>'
        f"<main><h1>{escape(title)}</h1>{body}</main>{end}</body></html>"
    )


def euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"


def products(items: list[Item]) -> str:
    rows = "".join(
        f'<tr><td><a href="/products/{one["sku"]}">{escape(one["name"])}</a></td>'
        f'<td class="price">{euros(one["price"])}</td><td>{_stock(one)}</td></tr>'
        for one in items
    )
    search = (
        '<form id="search-form"><label for="search">Search</label><input id="search" name="q">'
        ' <button>Find</button></form><ul id="found"></ul>'
    )
    head = "<tr><th>Article</th><th class='price'>Price</th><th>In stock</th></tr>"
    return page("Our articles", f"{search}<table>{head}{rows}</table>", SEARCH)


def product(one: Item) -> str:
    form = (
        f'<form method="post" action="/cart"><input type="hidden" name="sku" value="{one["sku"]}">'
        '<label for="quantity">Quantity</label><input id="quantity" name="quantity" type="number" value="1" min="1">'
        " <button>Add to cart</button></form>"
    )
    return page(one["name"], f'<p class="price-tag">{euros(one["price"])}</p><p>In stock: {_stock(one)}</p>{form}')


def cart(lines: list[tuple[Item, int]]) -> str:
    if not lines:
        return page("Your cart", '<p id="nothing">Your cart is empty.</p>')
    rows = "".join(
        f'<tr class="line" data-sku="{one["sku"]}"><td>{escape(one["name"])}</td><td>{count}</td>'
        f'<td class="price">{euros(one["price"] * count)}</td></tr>'
        for one, count in lines
    )
    total = sum(one["price"] * count for one, count in lines)
    forms = (
        '<p><a href="/checkout">Go to checkout</a></p>'
        '<form id="empty" method="post" action="/cart/empty"><button>Empty the cart</button></form>'
    )
    head = "<tr><th>Article</th><th>Quantity</th><th class='price'>Price</th></tr>"
    table = f'<table>{head}{rows}</table><p id="total">Total: {euros(total)}</p>'
    return page("Your cart", table + forms, SURE)


def checkout(lines: list[tuple[Item, int]], message: str = "") -> str:
    options = "".join(f"<option>{escape(one)}</option>" for one in DELIVERY)
    total = sum(one["price"] * count for one, count in lines)
    told = f'<p class="message" role="alert">{escape(message)}</p>' if message else ""
    form = (
        f'{told}<p>To pay: {euros(total)}</p><form method="post" action="/orders">'
        '<label for="name">Your name</label><input id="name" name="name">'
        '<label for="email">E-mail</label><input id="email" name="email">'
        f'<label for="delivery">Delivery</label><select id="delivery" name="delivery">{options}</select>'
        '<label><input id="gift" type="checkbox" name="gift" value="yes"> Wrap it as a gift</label>'
        "<p><button>Place the order</button></p></form>"
    )
    return page("Checkout", form)


def confirmation(order: Item) -> str:
    gift = "<p id='wrapped'>Wrapped as a gift.</p>" if order["gift"] else ""
    body = (
        f'<p id="thanks">Thank you, {escape(order["name"])}! Your order has the number '
        f'<strong id="number">{order["number"]}</strong>.</p><p>Delivery: {escape(order["delivery"])}</p>{gift}'
        f'<p id="total">Total: {euros(order["total"])}</p>'
    )
    return page("Order placed", body)


def orders(items: list[Item]) -> str:
    if not items:
        return page("Orders of today", '<p id="nothing">No orders yet.</p>')
    rows = "".join(
        f'<tr class="order" data-number="{one["number"]}"><td>{one["number"]}</td><td>{escape(one["name"])}</td>'
        f"<td>{sum(line['quantity'] for line in one['lines'])}</td>"
        f'<td class="price">{euros(one["total"])}</td></tr>'
        for one in items
    )
    head = "<tr><th>Number</th><th>Name</th><th>Articles</th><th class='price'>Total</th></tr>"
    return page("Orders of today", f"<table>{head}{rows}</table>")


def problem(message: str) -> str:
    body = f'<p class="message" role="alert">{escape(message)}</p><p><a href="/">Back to the shop</a></p>'
    return page("Sorry", body)


def _stock(one: Item) -> str:
    return str(one["stock"]) if one["stock"] else '<span class="sold-out">sold out</span>'
