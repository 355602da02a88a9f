"""The agent's only door: the user's words, the tools, and its reply."""

import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit


class Door:
    """One kept-alive connection to the gateway."""

    def __init__(self) -> None:
        url = os.environ["HARNESS_GATEWAY_URL"]
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)

    def task(self) -> str:
        """What the user wants."""
        return str(self._ask("GET", "/turn")["message"])

    def tool(self, name: str, **arguments: object) -> Any:
        """A tool's answer; a refusal is given back as it is."""
        return self._ask("POST", f"/tools/{name}", arguments)

    def reply(self, message: str) -> None:
        self._ask("POST", "/reply", {"message": message})

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        text = self._connection.getresponse().read()
        return json.loads(text) if text else {}
