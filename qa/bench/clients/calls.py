"""Calls the gateway over and over from inside a sandbox: `calls.py KIND CLIENTS CALLS`.

KIND is `plain` (http.client, kept alive), `openai` or `mcp` (their SDKs). Each client is a process of its own, and all
begin together. Prints one JSON object: the median and the 95th percentile of all calls, how many went through in a
second, and what each cost the processors here.
"""

import asyncio
import http.client
import json
import os
import statistics
import sys
import time
from pathlib import Path

SORTS = 10
WARM = 20
DOOR = os.environ["HARNESS_GATEWAY_URL"]


def arguments(number):
    return {"query": f"burger {number % SORTS}", "category": "mains", "limit": 3, "filters": {"vegan": False}}


def plain(calls, ready):
    gateway = http.client.HTTPConnection("127.0.0.1", int(DOOR.rsplit(":", 1)[1]))

    def call(number):
        body = json.dumps(arguments(number))
        gateway.request("POST", "/tools/find_items", body, {"Content-Type": "application/json"})
        answer = gateway.getresponse()
        content = answer.read()
        assert answer.status == 200, content

    return timed(call, calls, ready)


def openai(calls, ready):
    from openai import OpenAI

    client = OpenAI(base_url=f"{DOOR}/v1", api_key="none", max_retries=0)

    def call(_):
        said = client.chat.completions.create(
            model="bench", messages=[{"role": "user", "content": "A burger, please."}]
        )
        assert said.choices[0].message.content

    return timed(call, calls, ready)


def timed(call, calls, ready):
    for number in range(WARM):
        call(number)
    ready()
    taken = []
    for number in range(calls):
        began = time.perf_counter()
        call(number)
        taken.append(time.perf_counter() - began)
    return taken


def mcp(calls, ready):
    return asyncio.run(over_mcp(calls, ready))


async def over_mcp(calls, ready):
    from mcp import Client

    async with Client(f"{DOOR}/mcp", cache=None) as client:
        for number in range(WARM):
            await client.call_tool("find_items", arguments(number))
        ready()
        taken = []
        for number in range(calls):
            began = time.perf_counter()
            answer = await client.call_tool("find_items", arguments(number))
            taken.append(time.perf_counter() - began)
            assert not answer.is_error, answer
    return taken


def main():
    kind, clients, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    come, gone = os.pipe(), os.pipe()
    results = [fork(kind, calls, come, gone) for _ in range(clients)]
    for _ in results:
        os.read(come[0], 1)
    before_s = launcher_s()
    os.write(gone[1], b"g" * clients)
    told = [json.loads(read_all(result)) for result in results]
    taken = sorted(second for one in told for second in one["taken"])
    forwarding_s = launcher_s() - before_s
    over_s = max(one["ended"] for one in told) - min(one["began"] for one in told)
    print(
        json.dumps(
            {
                "median_ms": statistics.median(taken) * 1000,
                "p95_ms": taken[int(len(taken) * 0.95)] * 1000,
                "per_s": len(taken) / over_s,
                "client_ms": sum(one["spent"] for one in told) / len(taken) * 1000,
                "forwarder_ms": forwarding_s / len(taken) * 1000,
            }
        )
    )


def fork(kind, calls, come, gone):
    """A client; what it gives back is read from the descriptor."""
    result = os.pipe()
    if os.fork():
        os.close(result[1])
        return result[0]
    clock = {}

    def ready():
        os.write(come[1], b"r")
        os.read(gone[0], 1)
        clock.update(began=time.monotonic(), spent=time.process_time())

    taken = {"plain": plain, "openai": openai, "mcp": mcp}[kind](calls, ready)
    spent = time.process_time() - clock["spent"]
    told = {"began": clock["began"], "ended": time.monotonic(), "spent": spent, "taken": taken}
    with os.fdopen(result[1], "w") as file:
        json.dump(told, file)
    os._exit(0)


def launcher_s():
    """Seconds of processor that process 1 has used, which passes the bytes on."""
    fields = Path("/proc/1/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_all(descriptor):
    with os.fdopen(descriptor) as file:
        return file.read()


main()
