"""A live sweep with simulated users: how near it comes to calls times latency by conversations in flight.

Agent and user are asked live, at endpoints of their own process that answer after 200 ms; 32 conversations run at a
time in warm sandboxes. A conversation has four messages of the user, two questions of the agent to its model before
each reply, and four to the user's model (three messages and the end): twelve calls, one after the other. Printed: wall
time by that floor, the same of a bare client on the same machine, and the harness's processor time a call.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.sandbox.providers import PROVIDERS
from harness.suite.loading import load_suite
from harness.users.users import UserOptions
from qa.bench.figures import Target, show
from qa.bench.overhead import AGENT
from qa.bench.sweep import own_s
from qa.doubles.model_double import DoubleReply, DoubleRequest, ModelDouble
from qa.doubles.rule_user import RuleUser

LATENCY_S = 0.2
IN_FLIGHT = 32
RATIO, BARE = "wall / floor", "a bare client / floor"
SUITE = """\
agents:
  thinks: {{command: [python3, "{{agent}}/thinks.py"], files: {agent}}}
model: {{base_url: "{agent_url}", double: true}}
user: {{kind: model, model: rule-user, base_url: "{user_url}", double: true}}
"""
CASE = """\
- id: talk-{number}
  limits: {{seconds: 600, memory_mb: 128}}
  task: "A small coffee, please, for table {number}."
  conversation:
    plan: "Say \\"And a muffin, please.\\" Say \\"And a glass of water.\\" Say \\"And a spoon.\\""
    max_turns: 8
"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sandbox", choices=PROVIDERS, default="docker-warm")
    options.add_argument("--cases", type=int, default=50)
    options.add_argument("--trials", type=int, default=8)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve()
        return 0
    show(figures(chosen), [Target(figure=RATIO, bound=1.15)])
    return 0


def figures(chosen: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        with served() as endpoints:
            plan = planned(Path(temporary), endpoints, chosen)
            began, before = time.perf_counter(), own_s()
            folder = run_plan(plan, Watch())
            wall, own = time.perf_counter() - began, own_s() - before
        for stored in folder.trials():
            trial = stored.trial
            assert (trial.outcome, trial.user and trial.user.ended) == ("finished", "goal_reached"), trial.reason
        with served() as again:
            bare = asyncio.run(bare_client(again.agent_url, endpoints.asked))
    floor = endpoints.asked * LATENCY_S / IN_FLIGHT
    return {
        "conversations": len(plan.planned),
        "calls": endpoints.asked,
        "wall, s": wall,
        "floor, s": floor,
        RATIO: wall / floor,
        BARE: bare / floor,
        "harness, processor ms a call": 1000 * own / endpoints.asked,
    }


def planned(project: Path, endpoints: "Endpoints", chosen: argparse.Namespace) -> RunPlan:
    folder = project / "suites" / "live"
    folder.mkdir(parents=True)
    (folder / "cases.yaml").write_text("".join(CASE.format(number=n) for n in range(chosen.cases)), encoding="utf-8")
    suite = SUITE.format(agent=AGENT, agent_url=endpoints.agent_url, user_url=endpoints.user_url)
    (folder / "suite.yaml").write_text(suite, encoding="utf-8")
    loaded = load_suite(project, "live")
    return RunPlan(
        project=project,
        suite=loaded,
        planned=planned_trials(loaded, Selection(), chosen.trials),
        sandbox=chosen.sandbox,
        model="live",
        users=UserOptions(mode="live"),
        jobs=IN_FLIGHT,
        most=IN_FLIGHT,
        name="live",
    )


async def bare_client(url: str, count: int) -> float:
    """Seconds for as many requests by as many workers, which only send and read."""
    body = json.dumps({"model": "bench", "messages": [{"role": "user", "content": "first, turn 1"}]})
    left = iter(range(count))
    async with aiohttp.ClientSession() as client:

        async def work() -> None:
            for _ in left:
                async with client.post(f"{url}/chat/completions", data=body) as response:
                    await response.json(content_type=None)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        return time.perf_counter() - began


class Thinker(ModelDouble):
    """The agent's model."""

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        del asked
        return DoubleReply(text="Noted.")


@dataclass
class Endpoints:
    """The models, in a process of their own."""

    agent_url: str
    user_url: str
    asked: int = 0
    """Requests to both of them; known when they have ended."""


def serve() -> None:
    """Prints both addresses, and the number of requests when the standard input ends."""
    with RuleUser(latency_s=LATENCY_S) as user, Thinker(name="thinker", latency_s=LATENCY_S) as agent:
        print(agent.url, user.url, flush=True)
        sys.stdin.read()
        print(agent.requests + user.requests, flush=True)


@contextmanager
def served() -> Iterator[Endpoints]:
    command = [sys.executable, "-m", "qa.bench.live", "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        found = Endpoints(*process.stdout.readline().split())
        yield found
        process.stdin.close()
        found.asked = int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
