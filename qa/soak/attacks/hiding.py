"""Agents that make their own checks unable to tell: no gate takes that for a pass."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

from qa.soak.attacks.project import Project, project, row_of, sandboxes
from qa.soak.rows import Row
from tests.gateway.models.model_server import Thought, serve_models

LEFT = "[{name: left, verifier: files, with: {added: [report.txt], allow: [menu.db, hole]}}]"
"""What is allowed can make the rest unmeasurable; what is not can be one of too many. Where the sandbox bounds their
number, all of them are seen, which fails the check too."""
ROWS = "[{name: rows, verifier: sql, with: {probe: menu, count: 1}}]"
LIST = "[{name: list, verifier: json_schema, with: {schema: {type: array, items: {$ref: '#'}}}}]"
PATTERN = "[{name: text, verifier: json_schema, with: {schema: {type: string, pattern: '^(a+)+$'}}}]"
EXPRESSION = '[{name: only a, verifier: final_answer, with: {regex: "^(a+)+$"}}]'
ANSWERED = "[{name: answered, verifier: final_answer, with: {contains: '[]'}}]"
CASES = {
    "sparse_file": f"checks: {LEFT}",
    "many_files": f"checks: {LEFT}",
    "deep_folders": f"checks: {LEFT}",
    "oversized_database": f"checks: {ROWS}",
    "endless_database": f"checks: {ROWS}",
    "fifo_database": f"checks: {ROWS}",
    "regular_expression": f"checks: {EXPRESSION}",
    "schema_pattern": f"checks: {PATTERN}",
    "deep_answer": f"checks: {LIST}",
    "unrecorded_calls": f"checks: {ANSWERED}, limits: {{misses: 0}}",
}
QUICK = tuple(name for name in CASES if name not in {"many_files", "deep_folders"})
_SUITE = """\
servers: {shop: {base_url: "http://127.0.0.1:9"}}
tools:
  - name: find
    effect: read
    server: shop
    http: {path: /find}
    parameters: {type: object, properties: {n: {type: integer}}}
probes:
  - {name: menu, sql: {path: menu.db, query: "select name from menu", timeout_s: 2}}
"""
_PRICED = """\
model: {{base_url: "{model}", prices: {{cheap: {{input_usd_per_mtok: 1, output_usd_per_mtok: 1}}}}}}
checks: [{{name: found, verifier: final_answer, with: {{contains: "All is done."}}}}]
"""
_AGENT = Path(__file__).with_name("hider.py").read_text(encoding="utf-8")
_GATES = {
    "--against-baseline": ["--against-baseline"],
    "--fail-under": ["--fail-under", "task_success=0.99"],
    "--against-baseline, one miss allowed": ["--against-baseline", "--max-inconclusive", "1"],
}


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        kinds = tuple(CASES) if scale >= 1 else QUICK
        few = len(_GATES) if scale >= 0.1 and sandbox == "local" else 2
        yield from hidden(sandbox, kinds, dict(list(_GATES.items())[:few]))
        yield unpriced(sandbox)


def hidden(sandbox: str, kinds: tuple[str, ...], gates: dict[str, list[str]]) -> Iterator[Row]:
    with project() as here:
        cases = "".join(f"- {{id: {name}, task: {name}, {CASES[name]}}}\n" for name in kinds)
        here.write(_SUITE, cases, _AGENT)
        run = ["run", "s", "--sandbox", sandbox, "--jobs", "2", "--run-name"]
        missing = list(_honest(here, run, gates))
        wrong = [] if missing else [found for kind in kinds for found in _hidden(here, run, kind, gates)]
        yield row_of(f"hiding agents, {sandbox}: no gate passes", len(kinds) * (len(gates) + 2), wrong, missing)


def unpriced(sandbox: str) -> Row:
    """A model whose cost cannot be counted is never asked, where cost is limited."""
    with project() as here, serve_models() as models:
        models.think = lambda results: Thought("All is done.")
        here.write(_PRICED.format(model=models.url), "- {id: c, task: chat, limits: {cost_usd: 1.0}}\n", _AGENT)
        run = ["run", "s", "--sandbox", sandbox, "--live", "model", "--fail-under", "task_success=0.99", "--run-name"]
        (here.suite / "agent" / "hiding.txt").write_text("", encoding="utf-8")
        done = here(*run, "cheap")
        asked = len([path for path, _, body in models.seen if body])
        missing = [] if (done.returncode, asked) == (0, 1) else [f"exit {done.returncode}, asked {asked} times"]
        (here.suite / "agent" / "hiding.txt").write_text("chat", encoding="utf-8")
        models.seen.clear()
        done = here(*run, "dear")
        asked = len([path for path, _, body in models.seen if body])
        wrong = [] if (done.returncode, asked) == (1, 0) else [("c", f"exit {done.returncode}, asked {asked} times")]
        if (found := here.stored("dear", "c", "trial.json"))["outcome"] != "limit_reached":
            wrong.append(("c", f"{found['outcome']}: {found['reason']}"))
        return row_of(f"hiding agents, {sandbox}: a model without a price", 1, wrong, missing)


def _honest(here: Project, run: list[str], gates: dict[str, list[str]]) -> Iterator[str]:
    """Gates that an honest agent does not pass: what they refuse is nothing then."""
    (here.suite / "agent" / "hiding.txt").write_text("", encoding="utf-8")
    done = here(*run, "honest")
    if done.returncode or here("baseline", "honest").returncode:
        yield f"an honest run: {(done.stderr or done.stdout)[-300:]}"
    for number, (gate, words) in enumerate(gates.items()):
        done = here(*run, f"honest-{number}", *words)
        if done.returncode:
            yield f"{gate}: {done.stdout[-200:]}{done.stderr[-200:]}"
    if here("compare", "honest", "honest-0", "--no-worse-than", "task_success=0.5").returncode:
        yield "--no-worse-than"


def _hidden(here: Project, run: list[str], kind: str, gates: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """One agent that hides in one case, a run for each gate."""
    (here.suite / "agent" / "hiding.txt").write_text(kind, encoding="utf-8")
    for number, (gate, words) in enumerate(gates.items()):
        done = here(*run, f"{kind}-{number}", "--case", kind, *words, timeout_s=300)
        if done.returncode not in {1, 3} or "Traceback" in done.stderr:
            yield f"{kind}, {gate}", f"exit {done.returncode}: {done.stderr[-200:]}"
    trial, card = (here.stored(f"{kind}-0", kind, f"{name}.json") for name in ("trial", "scorecard"))
    if card["success"] is not False and trial["outcome"] != "inconclusive":
        yield f"{kind}, its own scorecard", f"{trial['outcome']}: {json.dumps(card['verdicts'])[:200]}"
    compared = json.loads(here("compare", "honest", f"{kind}-0", "--json").stdout)["success"]
    if not compared["worse"]:
        yield f"{kind}, compare", json.dumps(compared)[:200]
