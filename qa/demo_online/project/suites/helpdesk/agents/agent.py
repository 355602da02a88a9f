"""The help desk's agent, in three releases. Production and the harness run the same program.

`r2` was to save the user a second look: it waits until an order is no longer delayed. It never is.
"""

import http.client
import json
import os
import re
import sys
from typing import Any, Protocol
from urllib.parse import urlsplit

PATIENCE = 6


class Desk(Protocol):
    """What the agent can do besides talking."""

    def tool(self, name: str, **arguments: object) -> Any: ...


def answer(desk: Desk, message: str, release: str) -> str:
    """The reply to one message of the user."""
    named = re.search(r"\b[A-Z]\d+\b", message)
    if named is None:
        hours = desk.tool("opening_hours", day="Monday")
        return f"Which order is it about? People answer from {hours['from']} to {hours['to']}."
    found = desk.tool("get_order", order=named[0])
    if release == "r2":
        for _ in range(PATIENCE):
            if found.get("state") != "delayed":
                break
            found = desk.tool("get_order", order=named[0])
        else:
            return "I am still looking into it, please ask again later."
    if "state" not in found:
        return "I am sorry, I could not find that."
    return f"Your order {found['order']} is {found['state']}."


class Gateway:
    """The way out of the sandbox."""

    def __init__(self) -> None:
        url = os.environ["HARNESS_GATEWAY_URL"]
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)

    def tool(self, name: str, **arguments: object) -> Any:
        return self.ask("POST", f"/tools/{name}", arguments)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        told = json.loads(response.read() or b"{}")
        return {**told, "status": response.status} if method == "GET" else told


def main() -> None:
    gateway, release = Gateway(), sys.argv[1]
    while True:
        turn = gateway.ask("GET", "/turn")
        if turn["status"] != 200:  # the user has nothing more to say
            return
        gateway.ask("POST", "/reply", {"message": answer(gateway, str(turn["message"]), release)})


if __name__ == "__main__":
    main()
