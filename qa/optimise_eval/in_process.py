"""The shopper in this process: its own agents' loop over its own model of rules and its own store, without a pipeline.

Evaluations of many optimisations need tens of thousands of trips. A test compares these trips with whole trials of the
pipeline: domains, vetoes and invocations are the same.
"""

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from harness.improve.candidates import Candidate
from harness.improve.invocations import AgentInvocation, alone, invocations_by_case, joined_verdict, micro_rubric
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import rollout_of
from harness.judging.rubrics import Rubric
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory, Usage
from harness.traces.trial import ModelUse, Trial

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "suites/grocery"
_AGENTS = {
    "search_agent": "orchestrator",
    "search_products": "search",
    "get_cart": "cart",
    "get_preferences": "preferences",
}
_WRITES = ("add_to_cart", "set_quantity", "place_order")

Json = dict[str, Any]
ScoredTrial = tuple[Case, Trial, Scorecard]


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Programs:
    """The programs of the suite, imported once."""

    def __init__(self) -> None:
        folders = [SUITE / "model", SUITE / "agents/shopper", ROOT / "images/grocery/market"]
        sys.path[:0] = [str(folder) for folder in folders]
        try:
            self.model = _loaded("grocery_model", SUITE / "model/__main__.py")
            self.shopper = importlib.import_module("main")
            self.store = importlib.import_module("grocery_service.store")
            self.refusal = importlib.import_module("grocery_service.refusal").Refusal
        finally:
            del sys.path[: len(folders)]


class _World:
    """One trip's gateway: what the shopper's program asks of the harness, answered here and kept as steps."""

    def __init__(self, programs: _Programs, store: Any, suite: Suite, session: str) -> None:
        self._programs = programs
        self._store = store
        self._suite = suite
        self._session = session
        self._drafts: list[Json] = []
        self.tokens = 0

    def tools(self) -> dict[str, Json]:
        return {
            tool.name: {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in self._suite.tools
        }

    def open_span(self) -> str:
        return ""

    def close_span(self, span: str, parent: str | None, agent: str, started_ns: int) -> None:
        """The agents are known by their tools."""

    def call(self, tool: str, arguments: Json) -> str:
        """The answer as the gateway words it."""
        try:
            return json.dumps(self._answer(tool, arguments))
        except self._programs.refusal as refusal:
            message = f"market refused the call: {refusal.status}"
            return json.dumps({"error": {"type": "tool_error", "message": message, "body": {"error": refusal.error}}})

    def _answer(self, tool: str, arguments: Json) -> Json:  # noqa: PLR0911 - one line a tool
        store = self._store
        match tool:
            case "find_stores":
                return store.stores()
            case "search_products":
                return store.products(arguments["query"], arguments.get("store_id"), arguments.get("limit", 5))
            case "find_substitutes":
                return store.substitutes(unquote(arguments["product_id"]))
            case "find_recipe":
                return store.recipes(arguments["query"])
            case "get_preferences":
                return store.preferences(arguments["shopper_id"])
            case "get_order_history":
                return store.orders(arguments["shopper_id"], arguments.get("limit", 1))
            case "get_cart":
                return store.cart(self._session)
            case "place_order":
                return store.place(self._session)
        line = self._programs.store.Line(**arguments)
        return store.add(self._session, line) if tool == "add_to_cart" else store.set_quantity(self._session, line)

    def chat(self, request: Json, span: str) -> Json:
        del span
        self._note_results(request["messages"])
        answer = self._programs.model.answer_to(request)
        self.tokens += answer["usage"]["total_tokens"]
        message = answer["choices"][0]["message"]
        names = {tool["function"]["name"] for tool in request["tools"]}
        agent = next(agent for tool, agent in _AGENTS.items() if tool in names)
        parent = None if agent == "orchestrator" else self._delegating()
        self._drafts.append({"agent": agent, "parent": parent, "message": message, "results": {}})
        return message

    def said(self, text: str) -> None:
        """A message of the shopper."""
        self._drafts.append({"user": text})

    def _delegating(self) -> int | None:
        places = [place for place, one in enumerate(self._drafts) if one.get("agent") == "orchestrator"]
        return places[-1] if places else None

    def _note_results(self, messages: list[Json]) -> None:
        told = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
        for draft in self._drafts:
            for call in (draft.get("message") or {}).get("tool_calls", ()):
                if call["id"] in told:
                    draft["results"][call["id"]] = told[call["id"]]

    def steps(self) -> tuple[Step, ...]:
        return tuple(self._step(place, draft) for place, draft in enumerate(self._drafts))

    def _step(self, place: int, draft: Json) -> Step:
        if "user" in draft:
            return Step(index=place, source="user", message=draft["user"], evidence="observed")
        calls, observations = [], []
        for number, call in enumerate(draft["message"].get("tool_calls", ())):
            name, identity = call["function"]["name"], f"{place}.{number}"
            other = name.removesuffix("_agent") if name.endswith("_agent") else None
            kind = "observed" if other is None else "self_reported"
            arguments = json.loads(call["function"]["arguments"])
            calls.append(ToolCall(id=identity, name=name, arguments=arguments, evidence=kind, delegated_to=other))
            text = draft["results"].get(call["id"])
            content = text if other is not None or text is None else json.loads(text)
            failed = isinstance(content, dict) and "error" in content
            error = ToolFailure(type="tool_error", message=content["error"]["message"]) if failed else None
            observations.append(Observation(call_id=identity, content=content, error=error, evidence=kind))
        return Step(
            index=place,
            source="agent",
            agent=draft["agent"],
            parent=draft["parent"],
            message=draft["message"].get("content"),
            calls=tuple(calls),
            observations=tuple(observations),
            usage=Usage(),
            evidence="observed",
        )


class InProcess:
    """Implements `Rollouts` over given cases; each (texts, case, component) is run once, whoever asks."""

    def __init__(self, suite: Suite, cases: Sequence[Case], rubric: Rubric, micro: Rubric, folder: Path) -> None:
        """`folder`: where the texts of candidates are written for the program."""
        self.suite = suite.model_copy(update={"cases": tuple(cases)})
        self.invocations: dict[str, Mapping[str, Sequence[AgentInvocation]]] = {}
        self.candidates: dict[str, Candidate] = {}
        """By id, all that were run."""
        self.ran = 0
        """Trips and invocations that were really run."""
        self._cases = {case.id: case for case in cases}
        self._programs, self._folder = _Programs(), folder
        seed = (ROOT / "images/grocery/seeds/grocery.sql").read_text(encoding="utf-8")
        self._store = self._programs.store.Store(":memory:", seed)
        self._sessions = count()
        self._scorer: Scorer = build_scorer(self.suite)
        self._judge = TrialJudge(judge=open_judge(ROOT, suite, rubric))
        self._micro = micro
        self._judges: dict[str, TrialJudge] = {}
        self._known: dict[tuple[str, str, str | None], Rollout] = {}

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None = None, sample: int = 0
    ) -> list[Rollout]:
        """Everything is deterministic, so that a further sample is equal."""
        del sample
        self._lay(candidate)
        for case in dict.fromkeys(cases):
            key = (candidate.id, case, component)
            if key not in self._known:
                self._known[key] = (
                    self._trip(candidate, case) if component is None else self._alone(candidate, case, component)
                )
        return [self._known[candidate.id, case, component] for case in cases]

    def trial(self, candidate: Candidate, case: Case) -> ScoredTrial:
        """One trip, scored."""
        self._lay(candidate)
        return self._scored(case, self._talked(case, None, ()))

    def cut(self, candidate: Candidate, cases: Sequence[str], component: str) -> tuple[str, ...]:
        """Cuts the component's invocations out of trips under a candidate; the cases that have some."""
        trials = [self.trial(candidate, self._cases[case])[1] for case in cases]
        self.invocations[component] = invocations_by_case(trials, component, self.suite.tools)
        return tuple(self.invocations[component])

    def _lay(self, candidate: Candidate) -> None:
        """The program reads the candidate's texts as its own."""
        self.candidates[candidate.id] = candidate
        folder = self._folder / candidate.id
        if not folder.is_dir():
            for path, text in candidate.texts.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        self._programs.shopper.PROMPTS = folder / "prompts"

    def _trip(self, candidate: Candidate, case_id: str) -> Rollout:
        found = self._scored(self._cases[case_id], self._talked(self._cases[case_id], None, ()))
        (verdict,) = self._judge.verdicts([found])
        return rollout_of(case_id, candidate, [found[1]], verdict)

    def _alone(self, candidate: Candidate, case_id: str, component: str) -> Rollout:
        asked = self.invocations[component][case_id]
        if component not in self._judges:
            rubric = micro_rubric(self._micro, component)
            self._judges[component] = TrialJudge(judge=open_judge(ROOT, self.suite, rubric))
        found = []
        for one in asked:
            case = alone(self.suite, one)
            before = [(call.tool, dict(call.arguments)) for call in one.before]
            found.append(self._scored(case, self._talked(case, component, before)))
        verdict = joined_verdict(self._judges[component].verdicts(found))
        return rollout_of(case_id, candidate, [trial for _, trial, _ in found], verdict)

    def _talked(self, case: Case, component: str | None, before: Sequence[tuple[str, Json]]) -> Trial:
        self.ran += 1
        session = f"trip-{next(self._sessions)}"
        world, main = _World(self._programs, self._store, self.suite, session), self._programs.shopper
        for tool, arguments in before:
            world.call(tool, arguments)
        whole = None if component is not None else main.shopper(world)
        reply = ""
        for text in _messages(case):
            world.said(text.rpartition("]\n")[2])
            agent = whole or main.sub_agent(world, world.tools(), component)
            reply = agent.run(text)
        steps = world.steps()
        return Trial(
            case_id=case.id,
            attempt=1,
            outcome="finished",
            trajectory=Trajectory(trace_id="", agent=self.suite.name, steps=steps, final_output=reply),
            states={"cart": self._store.cart(session)},
            model_use=ModelUse(
                replies=sum(one.source == "agent" for one in steps), input_tokens=world.tokens, output_tokens=0
            ),
            model_tiers={"live": sum(one.source == "agent" for one in steps)},
        )

    def _scored(self, case: Case, trial: Trial) -> ScoredTrial:
        evidence = Evidence(case=case, trial=trial, tools=self.suite.tools)
        return case, trial, self._scorer.score(evidence)


def _messages(case: Case) -> Iterator[str]:
    """What a scripted shopper says, whatever is answered; the first message with the profile, as the program has it."""
    talk = case.conversation
    profile = "".join(f"[{name}: {value}]\n" for name, value in sorted((case.user_profile or {}).items()))
    yield case.task if talk is None else profile + case.task
    yield from (turn.say for turn in (() if talk is None else talk.turns) if turn.say is not None)
