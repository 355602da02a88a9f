"""One trial floods a channel of the gateway; calls of another trial, of every kind, take no longer than alone."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.local import LocalSandboxProvider
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Case, Limits, SqlProbe, StateProbe
from harness.suite.conversations import Conversation
from harness.suite.suites import Suite
from qa.soak.neighbours import CONNECTIONS, SERVERS, TALK, TOOLS, Floods, Neighbour, Page, Services
from tests.gateway.conftest import Agent

_BOUND_S = 5.0
_AT_ONCE = 40


@pytest.fixture
def trials(
    suite: Suite, case: Case, shop: Any, agent: Callable[[Path], Agent], tmp_path: Path
) -> Iterator[Callable[[str], tuple[TrialSession, Agent]]]:
    """Opens trials of one gateway, each with a sandbox and a browser."""
    probe = StateProbe(name="rows", sql=SqlProbe(service="db", query="select"))
    case = case.model_copy(update={"conversation": Conversation.model_validate(TALK), "limits": Limits(steps=10_000)})
    servers = suite.servers | SERVERS
    changed = {"folder": tmp_path, "servers": servers, "tools": TOOLS, "probes": (probe,), "cases": (case,)}
    services = Services(shop=shop.url, db="")
    with (
        Gateway(suite.model_copy(update=changed), "live", cassettes=tmp_path, services=services) as gateway,
        ExitStack() as stack,
    ):
        sandboxes = LocalSandboxProvider(run="r")
        stack.callback(sandboxes.close)

        def opened(name: str) -> tuple[TrialSession, Agent]:
            session = stack.enter_context(gateway.open(SessionRequest(trial_id=name, case=case, attempt=1, agent="a")))
            sandbox = sandboxes.start(
                SandboxSpec(trial_id=name, limits=case.limits), Snapshot(name="n", environment="base", image="i")
            )
            stack.callback(sandbox.close)
            session.attach(sandbox)
            session.attach_browser(Page)
            client = agent(session.socket)
            assert 200 == client.ask("GET", "/turn")[0]
            return session, client

        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("flood", ["shell", "slow_server", "pairs", "spans"])
def test_a_neighbours_calls_take_no_longer_than_alone(
    trials: Callable[[str], tuple[TrialSession, Agent]], flood: str
) -> None:
    alone = Neighbour(*trials("alone")).seconds()
    greedy, neighbour = [trials("greedy")[0] for _ in range(2)], trials("neighbour")
    connections = CONNECTIONS.get(flood, _AT_ONCE)
    clients = [Agent(greedy[number % 2].socket) for number in range(connections)]
    with ThreadPoolExecutor(connections) as pool:
        over = threading.Event()

        def send(client: Agent) -> None:
            with suppress(OSError, json.JSONDecodeError):
                while not over.is_set():
                    getattr(Floods(), flood)(client)

        sent = [pool.submit(send, client) for client in clients]
        time.sleep(0.5)
        beside = Neighbour(*neighbour).seconds()
        under_way = sum(not one.done() for one in sent)
        over.set()
        for session in greedy:
            session.close()
        for client in clients:
            client.close()
    print({kind: (round(alone[kind], 3), round(beside[kind], 3)) for kind in alone}, under_way)
    late = {kind: (alone[kind], beside[kind]) for kind in alone if beside[kind] > 10 * alone[kind] + _BOUND_S}
    assert {} == late
