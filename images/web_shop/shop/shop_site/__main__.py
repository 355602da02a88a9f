"""The shop's web server, and its state on standard output: `python3 -m shop_site [--port N | --dump]`."""

import argparse
import json
import os
import sys
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from shop_site import pages
from shop_site.store import Refused, Store

_MAX_BODY = 65_536


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--dump", action="store_true")
    arguments = parser.parse_args()
    state = Path(os.environ["SHOP_STATE"])
    if arguments.dump:
        sys.stdout.write(state.read_text())
        return
    Shop.store = Store(json.loads(Path(os.environ["SHOP_SEED"]).read_text()), state)
    ThreadingHTTPServer(("0.0.0.0", arguments.port), Shop).serve_forever()


class Shop(BaseHTTPRequestHandler):
    """Pages by GET, changes by POST with a redirect to what came of them."""

    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        parts = url.path.strip("/").split("/")
        try:
            self._show(parts, query.get("q", [""])[0])
        except Refused as refused:
            self._html(pages.problem(str(refused)), 404)

    def do_POST(self) -> None:
        length = min(int(self.headers.get("Content-Length", 0)), _MAX_BODY)
        given = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        visitor = self._visitor()
        made = visitor is None
        visitor = visitor or self.store.new_visitor()
        try:
            where = self._change(urlsplit(self.path).path, visitor, given)
        except Refused as refused:
            self._html(pages.problem(str(refused)), 409)
        else:
            self._redirect(where, visitor if made else None)

    def _show(self, parts: list[str], words: str) -> None:
        plain = {"health": ("text/plain", "ok"), "style.css": ("text/css", pages.STYLE)}
        if parts[0] in plain:
            kind, text = plain[parts[0]]
            self._send(text.encode(), kind)
        elif parts[0] == "api":
            self._api(parts[1:], words)
        else:
            self._html(self._page(parts))

    def _api(self, parts: list[str], words: str) -> None:
        found = {"search": lambda: self.store.search(words), "orders": lambda: self.store.orders}
        if len(parts) != 1 or parts[0] not in found:
            raise Refused("There is no such page.")
        self._send(json.dumps(found[parts[0]]()).encode(), "application/json")

    def _page(self, parts: list[str]) -> str:
        store, visitor = self.store, self._visitor() or ""
        match parts:
            case [""]:
                return pages.products(store.products)
            case ["products", sku]:
                return pages.product(store.product(sku))
            case ["cart"]:
                return pages.cart(store.cart(visitor))
            case ["checkout"]:
                return pages.checkout(store.cart(visitor))
            case ["orders"]:
                return pages.orders(store.orders)
            case ["orders", number]:
                return pages.confirmation(store.order_by(number))
        raise Refused("There is no such page.")

    def _change(self, path: str, visitor: str, given: dict[str, str]) -> str:
        match path:
            case "/cart":
                quantity = given.get("quantity", "1")
                if not quantity.isdecimal():
                    raise Refused("How many do you want?")
                self.store.put(visitor, given.get("sku", ""), int(quantity))
                return "/cart"
            case "/cart/empty":
                self.store.empty(visitor)
                return "/cart"
            case "/orders":
                customer = _customer(given)
                return f"/orders/{self.store.order(visitor, customer)['number']}"
        raise Refused("There is no such page.")

    def _visitor(self) -> str | None:
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("cart")
        return None if cookie is None else cookie.value

    def _html(self, text: str, status: int = 200) -> None:
        self._send(text.encode(), "text/html; charset=utf-8", status)

    def _send(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _redirect(self, where: str, visitor: str | None) -> None:
        self.send_response(303)
        self.send_header("Location", where)
        if visitor is not None:
            self.send_header("Set-Cookie", f"cart={visitor}; Path=/; HttpOnly; SameSite=Lax")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Requests are in the trace already."""


def _customer(given: dict[str, str]) -> dict[str, object]:
    name, email = given.get("name", "").strip(), given.get("email", "").strip()
    if not name or "@" not in email:
        raise Refused("We need your name and an e-mail address.")
    if given.get("delivery") not in pages.DELIVERY:
        raise Refused("How shall it be delivered?")
    return {"name": name, "email": email, "delivery": given["delivery"], "gift": given.get("gift") == "yes"}


if __name__ == "__main__":
    main()
