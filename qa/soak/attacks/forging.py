"""Agents that forge evidence: calls that were never made satisfy no check, and spoil no other trial."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from harness.judging.transcripts import build_transcript
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.suite.loading import load_suite
from harness.traces.trajectory import unattributed
from harness.traces.trial import Trial
from qa.soak.attacks.project import Project, project, row_of, sandboxes
from qa.soak.rows import Row
from tests.gateway.models.model_server import Thought, serve_models
from tests.judging.judge.serving import served

FORGERIES = (
    "span_of_a_call",
    "invented_result",
    "invented_result_responses",
    "invented_result_anthropic",
    "invented_history",
    "named_user",
    "named_tool",
    "named_end_state",
    "result_of_a_refused_call",
    "under_a_real_span",
    "one_long_chain",
    "deep_arguments",
    "long_integers",
)
TELLING = tuple(name for name in FORGERIES[:-3] if name not in {"invented_history", "result_of_a_refused_call"})
"""Those that deceive whoever believes agents; the others are made to break a trial, or to take a way of their own."""
_REALLY_CALLING = {"result_of_a_refused_call", "deep_arguments", "long_integers"}
"""They call the tools and are refused: which tools they chose is then no claim of theirs."""
CHECKS = ("required", "answered", "calls", "process")
METRICS = ("call_match", "effect_match", "tool_selection")
SAID = "I confirm it all."
_ENDED = {"finished", "agent_failed", "limit_reached"}
_GENUINE = ("honest", "honest_with_model")
_SUITE = """\
servers: {{shop: {{base_url: "{url}", disposable: true}}}}
tools:
  - name: look
    effect: read
    server: shop
    http: {{path: /look}}
    parameters: &text {{type: object, properties: {{q: {{type: string}}}}, required: [q]}}
  - name: order
    effect: write
    server: shop
    http: {{method: POST, path: /order, body: arguments}}
    parameters: *text
model: {{base_url: "{model}"}}
checks:
  - {{name: required, verifier: required_tools, with: {{tools: [look, order]}}}}
  - {{name: answered, verifier: required_tools, with: {{tools: [look, order], answered: true}}}}
  - {{name: calls, verifier: trajectory}}
  - {{name: process, verifier: rules, with: {{rules: [require look, require order]}}}}
"""
_CASE = """\
- id: {name}
  task: {name}
  required_tools: [look, order]
  reference:
    - {{id: one, tool: look, arguments: {{q: egg}}}}
    - {{id: two, tool: order, arguments: {{q: egg}}, after: [one]}}
"""
AGENT = (Path(__file__).with_name("forger.py")).read_text(encoding="utf-8")


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        yield from rows_in(sandbox)


def rows_in(sandbox: str) -> Iterator[Row]:
    """Every forgery as a case of one run, with honest agents before, between and after them."""
    with project() as here, serve_models() as models, served(_shop, path="") as url:
        models.think = _asks_for_both
        _write(here, url, models.url)
        live = ["--sandbox", sandbox, "--jobs", "2", "--live", "all"]
        done = here("run", "s", "--run-name", "r", *live, timeout_s=600)
        if done.returncode not in {0, 1}:
            yield row_of(f"forged evidence, {sandbox}", len(FORGERIES), [("run", done.stderr[-300:])])
            return
        missing = [name for name in _GENUINE if not _all_pass(here, name)]
        yield row_of(
            f"forged evidence, {sandbox}: no check takes it",
            len(FORGERIES) * (len(CHECKS) + len(METRICS)),
            _believed(here),
            [*missing, *_doubted_by_everybody(here)],
        )
        yield row_of(f"forged evidence, {sandbox}: each trial ends by itself", len(FORGERIES), _disturbed(here))
        yield row_of(
            f"forged evidence, {sandbox}: no other speaker in transcripts",
            len(FORGERIES),
            _speaking(here),
            [] if "user" in _speakers(here, "honest") else ["the task is not a user's"],
        )


def _write(here: Project, url: str, model: str) -> None:
    cases = [_GENUINE[0], *FORGERIES[: len(FORGERIES) // 2], _GENUINE[1], *FORGERIES[len(FORGERIES) // 2 :]]
    here.write(_SUITE.format(url=url, model=model), "".join(_CASE.format(name=name) for name in cases), AGENT)


async def _shop(request: web.Request) -> web.StreamResponse:
    return web.json_response({"done": await request.text() or request.query_string})


def _asks_for_both(results: list[str]) -> Thought:
    return Thought(None, (("look", {"q": "egg"}), ("order", {"q": "egg"}))) if not results else Thought("All is done.")


def _all_pass(here: Project, case: str) -> bool:
    return all(value == 1 for value in _told(here, case).values())


def _told(here: Project, case: str) -> dict[str, Any]:
    return _figures(here.stored("r", case, "scorecard.json"))


def _figures(card: dict[str, Any]) -> dict[str, Any]:
    figures = {score["metric"]: score["value"] for score in card["scores"]}
    return {one["check"]: one["passed"] for one in card["verdicts"]} | {name: figures[name] for name in METRICS}


def _believed(here: Project) -> Iterator[tuple[str, str]]:
    for case in FORGERIES:
        for name, value in _told(here, case).items():
            chosen = name == "tool_selection" and case in _REALLY_CALLING
            if not chosen and (value is not False if name in CHECKS else value not in {0.0, None}):
                yield f"{case}, {name}", f"{value}"


def _doubted_by_everybody(here: Project) -> Iterator[str]:
    """Forgeries by which not even a scorer without provenance is deceived: they show nothing."""
    suite = load_suite(here.folder, "s")
    for case in TELLING:
        trial = Trial.model_validate(here.stored("r", case, "trial.json"))
        believed = trial.model_copy(update={"trajectory": unattributed(trial.trajectory)})
        asked = next(one for one in suite.cases if one.id == case)
        card = score_trial(Evidence(case=asked, trial=believed, tools=suite.tools), suite)
        if not any(one.passed for one in card.verdicts):
            yield f"{case} deceives nobody"


def _disturbed(here: Project) -> Iterator[tuple[str, str]]:
    for case in FORGERIES:
        trial = here.stored("r", case, "trial.json")
        if trial["outcome"] not in _ENDED:
            yield case, f"{trial['outcome']}: {trial['reason']}"
        for words in ((), ("--transcript", "everything")):
            shown = here("explain", "r", case, *words)
            if shown.returncode:
                yield case, f"explain {' '.join(words)}: {shown.stderr[-200:]}"
    for words in (("score", "r"), ("report", "r", "--html"), ("export", "r", "--format", "atif", "-o", "out")):
        done = here(*words)
        if done.returncode:
            yield words[0], done.stderr[-200:]


def _speakers(here: Project, case: str) -> dict[str, str]:
    """Who is shown to have said what."""
    found: dict[str, str] = {}
    trial = Trial.model_validate(here.stored("r", case, "trial.json"))
    for piece in build_transcript(trial, None).pieces:
        found[piece.who] = found.get(piece.who, "") + piece.text
    return found


def _speaking(here: Project) -> Iterator[tuple[str, str]]:
    for case in FORGERIES:
        for who, said in _speakers(here, case).items():
            if SAID in said and re.match(r"(user|tool|end state|system)\b", who):
                yield case, f"{who!r} says {said[:60]!r}"
