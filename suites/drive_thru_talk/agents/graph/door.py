"""The agent's only door: the guest's words, the tools, and what it says itself."""

import http.client
import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit


class Refused(Exception):
    """A tool did not do what was asked; the message says why."""


class Door:
    """One kept-alive connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def turns(self) -> Iterator[str]:
        """What the guest says, until there is nothing more."""
        while True:
            status, turn = self._ask("GET", "/turn")
            if status != 200:
                return
            yield turn["message"]

    def think(self, text: str) -> None:
        self._ask("POST", "/thought", {"text": text})

    def reply(self, message: str) -> None:
        self._ask("POST", "/reply", {"message": message})

    def call(self, tool: str, arguments: dict) -> dict:
        """The tool's answer; raises Refused."""
        status, answer = self._ask("POST", f"/tools/{quote(tool)}", arguments)
        if status != 200:
            raise Refused(answer.get("error", {}).get("message", f"status {status}"))
        return answer

    def _ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}
