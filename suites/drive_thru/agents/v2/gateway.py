"""The agent's only door: the guest's words, the tools, and what it says itself."""

import http.client
import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit


class Refused(Exception):
    """A tool did not do what was asked; the message says why."""


class Gateway:
    """One kept-alive connection. Look-ups are remembered: the menu does not change while a guest is served."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self._looked_up: dict[str, list[dict]] = {}

    def turns(self) -> Iterator[str]:
        """What the guest says, until there is nothing more."""
        while True:
            status, turn = self._ask("GET", "/turn")
            if status != 200:
                return
            yield turn["message"]

    def think(self, text: str, plan: list[str] | None = None) -> None:
        self._ask("POST", "/thought", {"text": text} if plan is None else {"text": text, "plan": plan})

    def reply(self, message: str) -> None:
        self._ask("POST", "/reply", {"message": message})

    def lookup(self, words: str) -> list[dict]:
        """The items that fit, best first."""
        if words not in self._looked_up:
            self._looked_up[words] = self._tool("lookup_menu_item", {"query": words})["items"]
        return self._looked_up[words]

    def add(self, item_id: str, quantity: int, size: str | None, modifiers: list[str]) -> None:
        arguments = {"item_id": item_id, "quantity": quantity, "size": size, "modifiers": modifiers}
        self._tool("add_item_to_order", {name: value for name, value in arguments.items() if value})

    def finalize(self) -> dict:
        """The order as it goes to the kitchen."""
        return self._tool("finalize_order", {})

    def _tool(self, name: str, arguments: dict) -> dict:
        status, answer = self._ask("POST", f"/tools/{quote(name)}", arguments)
        if status != 200:
            raise Refused(answer.get("error", {}).get("message", f"status {status}"))
        return answer

    def _ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}
