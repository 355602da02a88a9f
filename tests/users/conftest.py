"""Conversations through the gateway's socket: a real endpoint plays the user's model, plain HTTP the agent."""

import http.client
import json
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRecord, SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec
from harness.users.users import UserOptions, users_of
from tests.real_data import real_data as expected


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real trajectories."""
    return expected()


Converse = Callable[..., tuple[list[str], Any]]
"""What the fixture `converse` gives: what the user said, and the session's record."""


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("gateway", timeout=20)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self._path)


def asked(path: Path, method: str, route: str, body: Any = None) -> tuple[int, Any]:
    connection = SocketConnection(path)
    try:
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, route, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


TOOLS = tuple(
    ToolSpec(
        name=name,
        server="shop",
        effect=effect,
        parameters={"type": "object", "properties": {"item": {"type": "string"}}},
        http=HttpRoute(method="POST", path=f"/{name}"),
    )
    for name, effect in (("find", "read"), ("add", "write"))
)

Reply = str | tuple[list[tuple[str, dict[str, Any]]], str]
"""What the agent says; or the calls it makes before, and what it says."""


@pytest.fixture
def converse(tmp_path: Path) -> Converse:
    """Runs one conversation: what the user said, and the record."""

    def run(
        replies: Sequence[Reply],
        *,
        case: Case,
        user: UserSpec | None = None,
        options: UserOptions | None = None,
        **own: Any,
    ) -> tuple[list[str], SessionRecord]:
        suite = Suite(
            name="talks",
            folder=tmp_path,
            agents={"v1": AgentVersion(command=("true",))},
            servers={"shop": ToolServer(base_url="http://127.0.0.1:9")},
            tools=TOOLS,
            cases=(case,),
            user=user or UserSpec(),
            digest="",
        )
        cassettes = tmp_path / "cassettes"
        users = users_of(suite, options or UserOptions(), cassettes=cassettes, secrets=own.pop("secrets", {}))
        said: list[str] = []
        request = SessionRequest(trial_id="t1", case=case, attempt=1, agent="v1")
        with (
            Gateway(suite, "replay", cassettes=cassettes, users=users, **own) as gateway,
            gateway.open(request) as session,
        ):
            left = iter(replies)
            while True:
                status, turn = asked(session.socket, "GET", "/turn")
                if status != 200:
                    break
                said.append(turn["message"])
                reply = next(left, None)
                if reply is None:
                    break
                calls, text = ([], reply) if isinstance(reply, str) else reply
                for name, arguments in calls:
                    asked(session.socket, "POST", f"/tools/{name}", arguments)
                asked(session.socket, "POST", "/reply", {"message": text})
            record = session.end()
        return said, record

    return run
