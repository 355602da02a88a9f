"""What the gateway adds to a streamed model reply: the time to its first byte, directly and through a trial's socket.

`python -m qa.bench.model_streams`: medians over rounds in turn, within one run. Bound: 5 ms more than directly.
"""

import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.models import ModelMode, ModelSpec
from harness.suite.suites import Suite
from tests.gateway.conftest import UnixConnection
from tests.gateway.models.model_server import Thought, serve_models

ROUNDS = 100
BOUND_MS = 5.0
BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello " * 500}]})


def first_byte_ms(connection: http.client.HTTPConnection) -> float:
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", BODY, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read1()
    first = 1000 * (time.perf_counter() - began)
    response.read()
    return first


@contextmanager
def through_gateway(url: str, mode: ModelMode, cassettes: Path) -> Iterator[http.client.HTTPConnection]:
    case = Case(id="c", task="x")
    agents = {"a": AgentVersion(command=("a",), files="a")}
    spec = ModelSpec(base_url=url)
    suite = Suite(name="s", folder=Path(), agents=agents, cases=(case,), digest="0" * 64, model=spec)
    request = SessionRequest(trial_id=mode, case=case, attempt=1, agent="a")
    with Gateway(suite, "live", cassettes=cassettes, model_mode=mode) as gateway, gateway.open(request) as session:
        connection = UnixConnection(session.socket)
        yield connection
        connection.close()
        session.end()


def main() -> int:
    with serve_models() as server, tempfile.TemporaryDirectory() as folder:
        server.think = lambda _: Thought(" ".join(["word"] * 200))
        cassettes = Path(folder)
        with through_gateway(server.url, "record", cassettes) as recording:
            first_byte_ms(recording)
        times: dict[str, list[float]] = {"directly": [], "live": [], "replay": []}
        direct = http.client.HTTPConnection(server.url.removeprefix("http://"))
        with (
            through_gateway(server.url, "live", cassettes) as live,
            through_gateway(server.url, "replay", cassettes) as replayed,
        ):
            for _ in range(ROUNDS):
                for name, connection in (("directly", direct), ("live", live), ("replay", replayed)):
                    times[name].append(first_byte_ms(connection))
        direct.close()
    medians = {name: statistics.median(found) for name, found in times.items()}
    added = medians["live"] - medians["directly"]
    print(f"first byte of a streamed reply: {', '.join(f'{n} {ms:.2f} ms' for n, ms in medians.items())}")
    print(f"the gateway adds {added:.2f} ms (bound {BOUND_MS:g}): {'holds' if added <= BOUND_MS else 'MISSED'}")
    return 0 if added <= BOUND_MS else 1


if __name__ == "__main__":
    sys.exit(main())
