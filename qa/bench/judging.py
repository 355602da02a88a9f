"""How near judging comes to what arithmetic allows: calls times latency by requests in flight. Memory must stay flat.

A part of the promised 2,000 sessions x 10 criteria is run, 200 x 10 (`--sessions` takes another number), against an
endpoint of its own process that answers after 200 ms. Prints wall time against the floor, the judge's processor time a
call, peak memory after a quarter and at the end, and what a repeated run asks.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import Judgement
from harness.runs.judging import Judged, JudgeRequest, judge_run
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial

CRITERIA = 10
IN_FLIGHT = 32
LATENCY_S = 0.2
WANTED_RATIO = 1.15
BUSY = 1.08
"""Where a bare client is slower than this, other work has the processors."""


def main() -> int:
    """Exit status 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    sessions = parser.parse_args().sessions
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary, Endpoint() as url:
        project = Path(temporary)
        folder = stored(project, sessions)
        request = Request(url, sessions * CRITERIA)
        before, began = time.process_time(), time.monotonic()
        done = judge_run(project, folder, request.value)
        wall, own = time.monotonic() - began, time.process_time() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        again = judge_run(project, folder, request.value)
        bare = asyncio.run(bare_client(url, sessions * CRITERIA))
    return told(done, again, Spent(wall=wall, own=own, bare=bare, early_mb=request.early_mb, peak_mb=peak))


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What it took; `bare`: the wall time of a client that does nothing but send and read, on the same machine."""

    wall: float
    own: float
    bare: float
    early_mb: float
    peak_mb: float


async def bare_client(url: str, count: int) -> float:
    """Seconds for as many requests of the usual size by as many workers."""
    body = json.dumps({"messages": [{"role": "user", "content": '"id": "c1" ' + "word " * 2000}]})
    left = iter(range(count))
    async with aiohttp.ClientSession() as client:

        async def work() -> None:
            for _ in left:
                async with client.post(f"{url}/chat/completions", data=body) as response:
                    await response.json()

        began = time.monotonic()
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        return time.monotonic() - began


def told(done: Judged, again: Judged, spent: Spent) -> int:
    floor = done.judged * LATENCY_S / IN_FLIGHT
    ratio, bare = spent.wall / floor, spent.bare / floor
    print(f"judging    {done.judged} judgements, {done.calls} calls, {IN_FLIGHT} in flight, {LATENCY_S:g} s each")
    print(f"  wall     {spent.wall:7.2f} s = {ratio:.3f} of the floor of {floor:.2f} s (wanted {WANTED_RATIO})")
    print(f"  bare     {spent.bare:7.2f} s = {bare:.3f} of it: a client that only sends and reads")
    print(f"  own time {spent.own:7.2f} s = {spent.own / done.judged * 1000:.2f} ms a call")
    print(f"  memory   {spent.early_mb:7.1f} MB after a quarter, {spent.peak_mb:.1f} MB at the end")
    print(f"  again    {again.calls} calls, {again.before} judgements hold")
    if bare > BUSY:
        print("  the machine is too busy to hold the wall time against the promise")
        ratio = 0.0
    return int(ratio > WANTED_RATIO or again.calls > 0 or spent.peak_mb > 1.2 * spent.early_mb)


class Request:
    """Looks at the memory once a quarter is done."""

    def __init__(self, url: str, count: int) -> None:
        self.early_mb = 0.0
        self._left = count // 4
        rubric = Rubric(
            name="bench",
            criteria=tuple(
                Criterion(id=f"c{number}", statement=f"Statement {number} holds.", evidence=("claims", "request"))
                for number in range(CRITERIA)
            ),
        )
        self.value = JudgeRequest(
            rubric=rubric,
            prompt=PromptRegistry(Path("/nonexistent")).get("judge"),
            settings=JudgeSettings(model="rule-model", base_url=url, in_flight=IN_FLIGHT),
            watch=self._seen,
        )

    def _seen(self, _: Judgement) -> None:
        self._left -= 1
        if self._left == 0:
            self.early_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


SERVER = """
import asyncio, json, re, sys
from aiohttp import web

CRITERION = re.compile(rb'id[\\\\\\\\]*": [\\\\\\\\]*"(c[0-9]+)')

async def answer(request):
    arrived = asyncio.get_running_loop().time()
    body = await request.read()
    said = {"criterion": CRITERION.search(body)[1].decode(), "eligible": True}
    said |= {"rationale": "so", "verdict": "pass", "refs": []}
    message = {"role": "assistant", "content": json.dumps(said)}
    await asyncio.sleep(arrived + float(sys.argv[1]) - asyncio.get_running_loop().time())
    return web.json_response({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

async def main():
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class Endpoint:
    """Answers after the latency, in a process of its own that does as little as it can."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", SERVER, str(LATENCY_S)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def stored(root: Path, sessions: int) -> RunFolder:
    """A run of made sessions of a dozen steps with results of a few kilobytes."""
    ids = [f"s{number}" for number in range(sessions)]
    agents = {"a": AgentVersion(command=("true",), files=".")}
    cases = tuple(Case(id=one, task="x") for one in ids)
    suite = Suite(name="bench", folder=root, agents=agents, cases=cases, digest="d")
    planned = tuple(PlannedTrial(case_id=one, attempt=1) for one in ids)
    with RunFolder.create(root / "runs", manifest(planned)) as folder:
        folder.keep_suite(suite)
        for one in ids:
            card = Scorecard(case_id=one, attempt=1, category="c", outcome="finished", success=None, digest="")
            folder.commit(trial(one), (), card)
    return RunFolder.open(folder.path)


def trial(name: str) -> Trial:
    steps = [Step(index=0, source="user", message=f"Find the cheapest one for {name}, please")]
    for number in range(1, 9):
        call = ToolCall(id=str(number), name="search", arguments={"page": number, "for": name})
        page = [{"sku": f"{name}-{number}-{row}", "price": row, "text": "word " * 20} for row in range(20)]
        seen = Observation(call_id=str(number), content={"rows": page})
        steps.append(Step(index=number, source="agent", calls=(call,), observations=(seen,)))
    steps.append(Step(index=9, source="agent", message=f"{name}-3-7 is the cheapest, it costs 7."))
    trajectory = Trajectory(trace_id=name, agent="a", steps=tuple(steps))
    return Trial(case_id=name, attempt=1, outcome="finished", trajectory=trajectory)


def manifest(planned: tuple[PlannedTrial, ...]) -> RunManifest:
    return RunManifest(
        run="bench",
        created="2026-01-31T12:00:00Z",
        harness_version="0",
        suite="bench",
        suite_digest="d",
        agent="a",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        planned=planned,
    )


if __name__ == "__main__":
    sys.exit(main())
