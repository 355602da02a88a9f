"""Runs inside a sandbox: drives an agent that is an HTTP chat endpoint.

Stands alone (standard library only). The agent's own command is this program's arguments; HARNESS_TALK says how to talk
to it. Each message of the user is taken from the gateway, given to the agent, and the agent's answer given back.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

_AFTER_THE_END_S = 10
_START_S = 30
_SHOWN = 200


class AgentFailed(Exception):
    """The agent did not answer as agreed; the message says how."""


class GatewayConnection:
    """The agent-facing protocol, over one connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and answer."""
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None

    def turns(self) -> Iterator[dict[str, Any]]:
        """The user's messages, as long as there are more."""
        while True:
            status, turn = self.ask("GET", "/turn")
            if status != 200:
                return
            yield turn


class HttpAgent:
    """A chat endpoint on this machine's loopback."""

    def __init__(self, command: Sequence[str], chat: Mapping[str, Any]) -> None:
        self._chat = chat
        self._port: int = chat["port"] or _free_port()
        self._messages: list[dict[str, str]] = []
        self._process = subprocess.Popen(
            [word.replace("{port}", str(self._port)) for word in command],
            env={**os.environ, "PORT": str(self._port)},
            stdin=subprocess.DEVNULL,
        )
        self._wait_until_ready()

    def answer(self, turn: Mapping[str, Any]) -> str:
        """What the agent says to the user's message."""
        self._messages.append({"role": "user", "content": turn["message"]})
        places = {
            "{message}": turn["message"],
            "{messages}": self._messages,
            "{system}": turn.get("system"),
            "{profile}": turn.get("profile"),
            "{conversation}": "harness",
        }
        sent = json.dumps(_filled_template(self._chat["send"], places)).encode()
        status, text = self._send("POST", self._chat["path"], sent)
        if status // 100 != 2:
            raise AgentFailed(f"the agent answered {status}: {_shortened_text(text)}")
        reply = _text_at(text, self._chat["reply"])
        self._messages.append({"role": "assistant", "content": reply})
        return reply

    def end(self) -> int:
        """Ends the server; that it was still there is as it should be."""
        code = self._process.poll()
        if code is None:
            self._process.terminate()
            try:
                self._process.wait(_AFTER_THE_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return max(0, code or 0)

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + _START_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise AgentFailed(f"the agent ended with status {self._process.returncode} before it listened")
            if self._is_ready():
                return
            time.sleep(0.05)
        raise AgentFailed(f"the agent does not listen on port {self._port} after {_START_S} s")

    def _is_ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _filled_template(template: Any, places: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled_template(item, places) for name, item in template.items()}
    if isinstance(template, list):
        return [_filled_template(item, places) for item in template]
    return places[template] if isinstance(template, str) and template in places else template


def _text_at(text: bytes, pointer: str) -> str:
    """The text at a JSON pointer of the agent's answer."""
    try:
        value = json.loads(text)
        for part in pointer.split("/")[1:]:
            value = value[int(part)] if isinstance(value, list) else value[part]
    except (ValueError, KeyError, IndexError, TypeError):
        value = None
    if not isinstance(value, str):
        raise AgentFailed(f"there is no text at {pointer} in the agent's answer: {_shortened_text(text)}")
    return value


def _shortened_text(text: bytes) -> str:
    return text[:_SHOWN].decode("utf-8", "replace")


def main() -> int:
    """Exit status: the agent's own; 1 if it did not answer as agreed."""
    talk = json.loads(os.environ.pop("HARNESS_TALK"))
    command = sys.argv[1:]
    gateway = GatewayConnection(os.environ["HARNESS_GATEWAY_URL"])
    try:
        agent = HttpAgent(command, talk["chat"])
        for turn in gateway.turns():
            status, _ = gateway.ask("POST", "/reply", {"message": agent.answer(turn)})
            if status != 204:
                break
    except (AgentFailed, OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"harness: {error}\n")
        return 1
    return agent.end()


if __name__ == "__main__":
    sys.exit(main())
