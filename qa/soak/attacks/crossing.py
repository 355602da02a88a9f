"""Agents that tell another order of their calls than the one they made: each check judges the one they made."""

import json
import random
from collections.abc import Iterator

from aiohttp import web

from qa.soak.attacks.project import Project, project, row_of, sandboxes
from qa.soak.rows import Row
from tests.gateway.models.model_server import Thought, serve_models
from tests.judging.judge.serving import served

CHECKS = ("rules", "strict", "ordered", "dag")
_SUITE = """\
servers: {{shop: {{base_url: "{url}", disposable: true}}}}
tools:
  - {{name: look, effect: read, server: shop, http: {{path: /look}}, parameters: {{type: object}}}}
  - name: order
    effect: write
    server: shop
    http: {{method: POST, path: /order, body: arguments}}
    parameters: {{type: object}}
model: {{base_url: "{model}"}}
checks:
  - {{name: rules, verifier: rules, with: {{rules: [look before order]}}}}
  - {{name: strict, verifier: trajectory, with: {{mode: strict}}}}
  - {{name: ordered, verifier: trajectory, with: {{mode: ordered}}}}
  - {{name: dag, verifier: trajectory, with: {{mode: dag}}}}
"""
_CASE = """\
- id: c{number}
  task: '{task}'
  reference: [{{id: one, tool: look, arguments: {{}}}}, {{id: two, tool: order, arguments: {{}}, after: [one]}}]
"""
AGENT = """\
import json, os, time, urllib.request
GATEWAY = os.environ["HARNESS_GATEWAY_URL"]

def send(path, value=None):
    content = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(GATEWAY + path, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"{}")

def tell(number, tool, ago_s, parent):
    began = time.time_ns() - int(ago_s * 1e9)
    facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": f"call_{number}",
             "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "{}"}
    span = {"traceId": "a" * 32, "spanId": f"{number + 1:016x}", "name": f"execute_tool {tool}",
            "startTimeUnixNano": str(began), "endTimeUnixNano": str(began + 1000),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]}
    if parent:
        span["parentSpanId"] = parent
    send("/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})

parent = [*os.environ.get("TRACEPARENT", "").split("-"), "", "", ""][2]
for number, act in enumerate(json.loads(send("/turn")["message"])):
    kind, *rest = act
    if kind == "call":
        send("/tools/" + rest[0], {})
    elif kind == "chat":
        called = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        send("/v1/chat/completions", {"model": "small-1", "messages": [
            {"role": "user", "content": "Eggs?"}, {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps(rest[0])}]})
    elif kind == "responses":
        send("/v1/responses", {"model": "small-1", "input": [
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": json.dumps(rest[0])}]})
    else:
        tell(number, *rest, parent if number % 2 else None)
send("/reply", {"message": "done"})
"""
Act = list[object]


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        yield _row(sandbox, [*_HONEST, *(_acts(random) for _ in range(max(20, round(120 * scale))))])


_HONEST: list[list[Act]] = [
    [["call", "look"], ["call", "order"]],
    [["chat", ["look", "order"]], ["call", "look"], ["call", "order"]],
    [["chat", ["look"]], ["call", "look"], ["responses", ["order"]], ["call", "order"]],
]
"""Programs that every rule and mode passes: without them a failure says nothing."""


def _acts(random: random.Random) -> list[Act]:
    """The write before the check, and claims about both before, between and behind them."""
    calls: list[Act] = [["call", "order"], ["call", "look"]]
    acts: list[Act] = [_claim(random)]
    for call in calls:
        acts += [call, *(_claim(random) for _ in range(random.randrange(3)))]
        acts += [_claim(random)] if random.random() < 0.3 else []
    return acts


def _claim(random: random.Random) -> Act:
    kind = random.choice(["chat", "responses", "span"])
    named = random.sample(["look", "order"], random.choice([1, 2, 2]))
    return [kind, named] if kind != "span" else [kind, named[0], random.choice([-60, 0.001, 5, 3600])]


def _row(sandbox: str, programs: list[list[Act]]) -> Row:
    with project() as here, serve_models() as models, served(_shop, path="") as url:
        models.think = lambda results: Thought(None, tuple((name, {}) for name in json.loads(results[-1])))
        cases = "".join(_CASE.format(number=number, task=json.dumps(acts)) for number, acts in enumerate(programs))
        here.write(_SUITE.format(url=url, model=models.url), cases, AGENT)
        live = ["--sandbox", sandbox, "--jobs", "2", "--live", "all"]
        done = here("run", "s", "--run-name", "r", *live, timeout_s=900)
        what, tries = f"forged order, {sandbox}: no check takes it", (len(programs) - len(_HONEST)) * len(CHECKS)
        if done.returncode not in {0, 1}:
            return row_of(what, tries, [], [f"run: {done.stderr[-300:]}"])
        verdicts = [_verdicts(here, number) for number in range(len(programs))]
        honest = range(len(_HONEST))
        missing = [f"{programs[n]}, {name}" for n in honest for name in CHECKS if verdicts[n][name] is not True]
        forged = range(len(_HONEST), len(programs))
        wrong = [
            (f"{n}: {programs[n]}, {name}", "passed") for n in forged for name in CHECKS if verdicts[n][name] is True
        ]
        return row_of(what, tries, wrong, missing)


async def _shop(request: web.Request) -> web.StreamResponse:
    return web.json_response({})


def _verdicts(here: Project, number: int) -> dict[str, bool | None]:
    card = here.stored("r", f"c{number}", "scorecard.json")
    return {one["check"]: one["passed"] for one in card["verdicts"]}
