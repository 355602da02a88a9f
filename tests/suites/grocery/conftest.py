"""The grocery service and the model of rules as their own processes, and the shopper's agents between them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from harness.suite.loading import load_suite
from harness.suite.suites import Suite

PROJECT = Path(__file__).parents[3]
MARKET = PROJECT / "images" / "grocery" / "market"
SEED = PROJECT / "images" / "grocery" / "seeds" / "grocery.sql"
SUITE = PROJECT / "suites" / "grocery"
PROMPTS = SUITE / "agents" / "shopper" / "prompts"

Json = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A server of this machine."""

    port: int

    def ask(self, method: str, path: str, body: Any = None, session: str = "default") -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"X-Shopping-Session": session, "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer


@contextmanager
def running(*command: str, folder: Path, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """A server that prints its address as its first line."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=os.environ | (env or {}), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1].removesuffix("/v1")
        yield Served(int(address.rpartition(":")[2]))
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(PROJECT, "grocery")


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grocery") / "grocery.sqlite"


@pytest.fixture(scope="session")
def market(database: Path) -> Iterator[Served]:
    env = {"GROCERY_SEED": str(SEED), "GROCERY_DATABASE": str(database)}
    with running("-m", "grocery_service", "--port", "0", folder=MARKET, env=env) as served:
        yield served


@pytest.fixture(scope="session")
def model() -> Iterator[Served]:
    with running(str(SUITE / "model"), "--port", "0", folder=PROJECT) as served:
        yield served


@dataclass
class Trip:
    """One conversation of the shopper's agents, with prompts of its own: the agents' loop over both real servers."""

    market: Served
    model: Served
    suite: Suite
    session: str
    prompts: Mapping[str, str]
    shopper: str
    messages: list[Json] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(agent, request) of each delegation."""

    def say(self, text: str) -> str:
        """The reply to the shopper."""
        return self._run("orchestrator", self.messages, text)

    def cart(self) -> dict[str, int]:
        """Product id -> quantity."""
        _, cart = self.market.ask("GET", "/cart", session=self.session)
        return {line["product_id"]: line["quantity"] for line in cart["items"]}

    def _run(self, agent: str, messages: list[Json], text: str) -> str:
        messages.append({"role": "user", "content": text})
        while True:
            told = [{"role": "system", "content": self.prompts[agent]}, *messages]
            body = {"model": "grocery-double", "messages": told, "tools": self._tools(agent)}
            _, answer = self.model.ask("POST", "/v1/chat/completions", body)
            message = answer["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            for call in message["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                content = self._call(call["function"]["name"], arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    def _call(self, name: str, arguments: Json) -> str:
        if name.endswith("_agent"):
            agent = name.removesuffix("_agent")
            self.asked.append((agent, arguments["request"]))
            return self._run(agent, [], arguments["request"])
        (tool,) = [one for one in self.suite.tools if one.name == name]
        assert tool.http is not None
        path = tool.http.path.format(**{key: quote(str(value)) for key, value in arguments.items()})
        query = urlencode({key: arguments[arg] for key, arg in tool.http.query.items() if arg in arguments})
        body = arguments if tool.http.body == "arguments" else None
        return json.dumps(self.market.ask(tool.http.method, f"{path}?{query}", body, self.session)[1])

    def _tools(self, agent: str) -> list[Json]:
        own = {
            "orchestrator": ("preferences_agent", "search_agent", "cart_agent"),
            "preferences": ("get_preferences", "get_order_history"),
            "search": ("search_products", "find_substitutes", "find_recipe", "find_stores"),
            "cart": ("get_cart", "add_to_cart", "set_quantity", "place_order"),
        }[agent]
        return [{"type": "function", "function": {"name": name, "parameters": {}}} for name in own]


def prompts(without: Sequence[str] = (), instead: Mapping[str, str] | None = None) -> dict[str, str]:
    """The committed prompts; `without` rules whose sentence holds one of the texts, `instead` replaces such sentences.

    Fails where a text is in no sentence: the test would prove nothing.
    """
    changes = dict.fromkeys(without, "") | dict(instead or {})
    told = {path.stem: path.read_text(encoding="utf-8") for path in PROMPTS.glob("*.md")}
    for text, new in changes.items():
        places = [(name, line) for name, prompt in told.items() for line in prompt.splitlines() if text in line]
        assert places, f"no rule says {text!r}"
        for name, line in places:
            told[name] = told[name].replace(line + "\n", f"- {new}\n" if new else "")
    return told
