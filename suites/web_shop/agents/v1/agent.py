"""A customer's errand boy: understands a few plain wishes, and does them in the browser. Standard library only."""

import http.client
import json
import os
import re
from urllib.parse import urlsplit

SHOP = "http://shop.test"
WISH = re.compile(r"buy (\d+) ([^.,]+)", re.IGNORECASE)
CUSTOMER = re.compile(r"I am ([^,]+), (\S+@\S+?),")


class Gateway:
    """The agent's only door: what is wished, and the browser."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        """(status, answer); an answer without a body is {}."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}

    def browser(self, act: str, **arguments: object) -> dict:
        """What the browser says; it must not refuse what this agent asks."""
        status, answer = self.ask("POST", f"/tools/browser_{act}", arguments)
        if status != 200:
            raise SystemExit(f"browser_{act}: {answer}")
        return answer


def serve(gateway: Gateway, wish: str) -> str:
    """Does what is wished; gives what to answer."""
    if re.search(r"\bempty my cart\b", wish, re.IGNORECASE):
        gateway.browser("open", url=f"{SHOP}/cart")
        gateway.browser("click", target="text=Empty the cart", dialog="accept")
    article = re.search(r"What does the (.+) cost", wish)
    if article is not None:
        return price(gateway, article[1])
    bought = WISH.search(wish)
    return "Your cart is empty." if bought is None else buy(gateway, wish, int(bought[1]), bought[2].strip())


def price(gateway: Gateway, name: str) -> str:
    gateway.browser("open", url=f"{SHOP}/")
    gateway.browser("click", target=f"role=link[name={json.dumps(name)}]")
    found = re.search(r"[\d.]+ EUR", gateway.browser("read")["outline"])
    return f"It costs {found[0]}." if found else "I cannot find the price."


def buy(gateway: Gateway, wish: str, count: int, name: str) -> str:
    find(gateway, wish, name)
    if count > 1:
        gateway.browser("type", target="#quantity", text=str(count))
    put = gateway.browser("click", target='role=button[name="Add to cart"]')
    if put["status"] != 200:
        reason = gateway.browser("read", target="role=alert")["outline"]
        return f"It cannot be had, so I bought nothing. The shop says: {reason}"
    gateway.browser("click", target="text=Go to checkout")
    customer = CUSTOMER.search(wish)
    if customer is not None:
        gateway.browser("type", target="#name", text=customer[1])
        gateway.browser("type", target="#email", text=customer[2])
    delivery = re.search(r"delivery (By \w+)", wish)
    if delivery is not None:
        gateway.browser("type", target="#delivery", text=delivery[1])
    if "gift" in wish:
        gateway.browser("click", target="#gift")
    gateway.browser("click", target='role=button[name="Place the order"]')
    number = re.search(r"\b\d{4}\b", gateway.browser("read", target="#thanks")["outline"])
    return f"Your order has the number {number[0]}." if number else "I could not place the order."


def find(gateway: Gateway, wish: str, name: str) -> None:
    gateway.browser("open", url=f"{SHOP}/")
    searched = re.search(r"searching for (\w+)", wish)
    if searched is None:
        gateway.browser("click", target=f"role=link[name={json.dumps(name)}]")
        return
    gateway.browser("type", target="#search", text=searched[1], submit=True)
    gateway.browser("click", target="#found a")


def main() -> None:
    gateway = Gateway(os.environ["HARNESS_GATEWAY_URL"])
    while True:
        status, turn = gateway.ask("GET", "/turn")
        if status != 200:
            return
        gateway.ask("POST", "/reply", {"message": serve(gateway, turn["message"])})


main()
