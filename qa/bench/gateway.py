"""What the gateway costs: calls from inside a container, and memory. `make bench`.

    floor     the same calls, answered with fixed bytes by a bare server behind the same socket and forwarder
    plain     replayed tool calls by http.client, kept alive, through the sandbox's port and the gateway's socket
    openai    a replayed chat completion by the openai SDK, mcp: replayed tool calls by the mcp SDK (`--sdks`)
    memory    of this process, before and after many calls

The suite, its tool and its model are real and stand in world.py; what is replayed is recorded from them first.
"""

import argparse
import asyncio
import gc
import http.client
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import Target, show
from world import served

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.sandbox.provider import Sandbox, SandboxSpec
from harness.sandbox.snapshots import SnapshotStore
from harness.suite.cases import Limits
from harness.suite.models import ModelMode, ToolMode
from harness.suite.suites import Suite

HERE = Path(__file__).parent
CLIENTS = HERE / "clients"
WITH_SDKS = "frameworks/openai_agents"
"""An image of this repository that has both SDKs."""
PLAIN = ("floor", "plain")
"""What needs no SDK in the image."""
WARM = 20
"""Calls that each client makes before it is timed."""
KEY = {"BENCH_KEY": "a-key-of-the-bench"}
CHAT = {"model": "bench", "messages": [{"role": "user", "content": "A burger, please."}]}


TARGETS = (
    Target(figure="plain, 1 client, times the floor", bound=2.5),
    Target(figure="plain, 8 clients, share of the floor's calls/s", bound=0.6, least=True),
    Target(figure="plain, 1 client, median ms", bound=1.5),
    Target(figure="plain, 8 clients, calls/s", bound=1000, least=True),
    Target(figure="openai, 1 client, median ms", bound=5),
    Target(figure="openai, 8 clients, calls/s", bound=250, least=True),
    Target(figure="mcp, 1 client, median ms", bound=5),
    Target(figure="mcp, 8 clients, calls/s", bound=250, least=True),
    # Python takes memory by the MiB, which is 52 bytes a call here; a call that was kept would be a thousand.
    Target(figure="memory, bytes a call over many trials", bound=100),
    Target(figure="memory, bytes a call past a trial's limit", bound=100),
)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What every measurement needs."""

    project: Path
    suite: Suite
    calls: int

    @contextmanager
    def gateway(self, mode: ToolMode, model: ModelMode) -> Iterator[Gateway]:
        cassettes = self.project / "cassettes"
        with Gateway(self.suite, mode, cassettes=cassettes, secrets=KEY, model_mode=model) as gateway:
            yield gateway

    def session(self, gateway: Gateway, name: str) -> TrialSession:
        return gateway.open(SessionRequest(trial_id=name, case=self.suite.cases[0], attempt=1, agent="bench"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--calls", type=int, default=1000, help="of each client")
    options.add_argument("--many", type=int, default=20_000, help="calls of the memory measurement")
    options.add_argument("--sdks", action="store_true", help=f"also by the SDKs, in the image {WITH_SDKS}")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as stack:
        project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-bench-")))
        bench = Bench(project=project, suite=stack.enter_context(served(project)), calls=chosen.calls)
        record(bench)
        figures = remembered(bench, chosen.many)  # first: memory that others have freed would hide what it takes
        figures |= from_containers(bench, ("floor", "plain", "openai", "mcp") if chosen.sdks else ("floor", "plain"))
        figures |= beside_floor(figures)
    print(json.dumps(figures)) if chosen.json else show(figures, TARGETS)


def record(bench: Bench) -> None:
    """The cassette: what the clients will ask for."""
    with bench.gateway("record", "record") as gateway, bench.session(gateway, "record") as session:
        caller = Caller(session.socket)
        for number in range(10):
            caller.find(number)
        caller.post("/v1/chat/completions", CHAT)
        caller.close()
        session.end()


class Caller:
    """A client outside of any container: no forwarder."""

    def __init__(self, path: Path) -> None:
        self._connection = http.client.HTTPConnection("gateway")
        self._connection.sock = socket.socket(socket.AF_UNIX)
        self._connection.sock.connect(str(path))

    def find(self, number: int, status: int = 200) -> None:
        arguments = {"query": f"burger {number % 10}", "category": "mains", "limit": 3, "filters": {"vegan": False}}
        self.post("/tools/find_items", arguments, status)

    def post(self, path: str, content: dict[str, Any], status: int = 200) -> None:
        self._connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == status, body

    def close(self) -> None:
        self._connection.close()


def beside_floor(figures: dict[str, float]) -> dict[str, float]:
    """Absolute times differ twofold between machines, these ratios much less."""
    one, eight = "1 client, median ms", "8 clients, calls/s"
    return {
        "plain, 1 client, times the floor": figures[f"plain, {one}"] / figures[f"floor, {one}"],
        "plain, 8 clients, share of the floor's calls/s": figures[f"plain, {eight}"] / figures[f"floor, {eight}"],
    }


class Echo(asyncio.Protocol):
    """Answers every request with the same bytes, as many as a tool answers."""

    ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n" + b"x" * 300

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        while b"\r\n\r\n" in self._read:
            head, _, rest = self._read.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            if len(rest) < length:
                return
            self._read = rest[length:]
            self._transport.write(self.ANSWER)


@contextmanager
def echoing() -> Iterator[Path]:
    """The socket of a bare server, in a thread of its own, as the gateway's is."""
    folder = private_folder()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        path = folder / "gateway.sock"
        serving = asyncio.run_coroutine_threadsafe(loop.create_unix_server(Echo, path), loop).result()
        path.chmod(0o666)
        yield path
        loop.call_soon_threadsafe(serving.close)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        remove_private_folder(folder)


def from_containers(bench: Bench, kinds: tuple[str, ...]) -> dict[str, float]:
    """Replayed calls by one client and by eight, each round in a container of its own."""
    client = connect()
    images = ImageStore(HERE.parents[1], client)
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        stack.callback(client.close)
        provider = DockerSandboxProvider(run="bench", client=client)
        stack.callback(provider.close)
        gateway = stack.enter_context(bench.gateway("replay", "replay"))
        snapshot = SnapshotStore(bench.project, images).load(None, None)
        for kind in kinds:
            tag = images.build("base" if kind in PLAIN else WITH_SDKS, print).tag
            for clients in (1, 8):
                with door_of(bench, gateway, kind, f"{kind}-{clients}") as door:
                    spec = SandboxSpec(
                        trial_id=f"{kind}-{clients}",
                        limits=bench.suite.cases[0].limits,
                        image=tag,
                        agent_files=CLIENTS,
                        gateway_socket=door,
                    )
                    sandbox = provider.start(spec, snapshot)
                    try:
                        figures |= measured(sandbox, kind, clients, bench.calls)
                    finally:
                        sandbox.close()
    return figures


@contextmanager
def door_of(bench: Bench, gateway: Gateway, kind: str, name: str) -> Iterator[Path]:
    """The socket behind which the calls are answered."""
    if kind == "floor":
        with echoing() as door:
            yield door
    else:
        with bench.session(gateway, name) as session:
            yield session.socket


def measured(sandbox: Sandbox, kind: str, clients: int, calls: int) -> dict[str, float]:
    """One round in this sandbox."""
    calls = calls if kind in PLAIN else max(calls // 4, 1)
    command = ["python3", "/agent/calls.py", "plain" if kind == "floor" else kind, str(clients), str(calls)]
    before_s = time.process_time()
    exit_ = sandbox.exec(command, {"OPENAI_AGENTS_DISABLE_TRACING": "1"}, 600)
    assert exit_.code == 0, exit_
    spent_s = time.process_time() - before_s
    told = json.loads(exit_.stdout)
    name = f"{kind}, {clients} client{'s' * (clients > 1)}"
    figures = {
        f"{name}, median ms": told["median_ms"],
        f"{name}, 95% ms": told["p95_ms"],
        f"{name}, calls/s": told["per_s"],
    }
    spent = {
        "harness": spent_s * 1000 / ((calls + WARM) * clients),
        "client": told["client_ms"],
        "forwarder": told["forwarder_ms"],
    }
    figures |= {f"{name}, processor ms a call: {who}": ms for who, ms in spent.items()}
    figures[f"{name}, calls/s that these allow"] = (os.cpu_count() or 1) * 1000 / sum(spent.values())
    return figures


def remembered(bench: Bench, calls: int) -> dict[str, float]:
    """What this process keeps of its calls: over trials of 50 calls, and within one trial that never ends."""
    with bench.gateway("replay", "replay") as gateway:
        each = 50
        for number in range(max(calls // each // 4, 1)):
            trial(bench, gateway, f"warm-{number}", each)
        before = resident_bytes()
        for number in range(calls // each):
            trial(bench, gateway, f"memory-{number}", each)
        over_trials = resident_bytes() - before
        before = resident_bytes()
        few = bench.suite.cases[0].model_copy(update={"limits": Limits(steps=each)})
        with gateway.open(SessionRequest(trial_id="limited", case=few, attempt=1, agent="bench")) as session:
            caller = Caller(session.socket)
            for number in range(calls):
                caller.find(number, 200 if number < each else 403)
            caller.close()
            past_limit = resident_bytes() - before
            session.end()
        before = resident_bytes()
        with bench.session(gateway, "long") as session:
            caller = Caller(session.socket)
            for number in range(calls):
                caller.find(number)
            caller.close()
            within = resident_bytes() - before
            session.end()
    return {
        "memory, calls": calls,
        "memory, bytes a call past a trial's limit": max(past_limit, 0) / calls,
        "memory, bytes a call over many trials": max(over_trials, 0) / calls,
        "memory, bytes a call within one trial (its trace)": max(within, 0) / calls,
    }


def trial(bench: Bench, gateway: Gateway, name: str, calls: int) -> None:
    with bench.session(gateway, name) as session:
        caller = Caller(session.socket)
        for number in range(calls):
            caller.find(number)
        caller.close()
        assert session.end().tiers == {"exact": 10, "exact_reused": calls - 10}


def resident_bytes() -> int:
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
