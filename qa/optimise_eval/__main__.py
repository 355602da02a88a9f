"""`python -m qa.optimise_eval`: planted settings, optimised in both modes beside random search at equal budget.

Everything is a double: the model follows only the sentences of its prompts, the reflector edits by a rule book that
holds wrong edits too. The figures show how the optimisation decides, and nothing about any language model.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.improve.acceptance import AcceptanceRules, Vetoes
from harness.improve.candidates import Candidate, Component, candidate_of, components_of
from harness.improve.lineage import WeightedObjective
from harness.improve.optimisation import Optimisation
from harness.improve.outcome import OptimisationOutcome
from harness.improve.reflector import RuleReflector, read_rule_book
from harness.improve.rollouts import Rollout
from harness.improve.search import optimisers_of
from harness.improve.sizing import OptimisationSettings
from harness.judging.rubrics import load_rubric
from harness.suite.cases import Case
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from qa.optimise_eval.in_process import InProcess
from qa.optimise_eval.settings import ROOT, SETTINGS, TRIPS, WITHOUT, Setting, right_texts

ROLLOUTS = 240
"""Of each optimiser in joint mode. Agent mode has half of it for each sub-agent: an invocation takes about a quarter of
what a trip takes."""
FEWEST = 20
"""Cases that an optimisation needs, so that the held-out part can confirm anything."""
MENDED = 0.9
"""Share of the distance to the prompts without the fault that must be regained."""


@dataclass(kw_only=True)
class Bench:
    """One setting: its trips, and what runs them."""

    setting: Setting
    suite: Suite
    trips: InProcess
    cases: list[Case]
    objective: WeightedObjective
    components: tuple[Component, ...]

    @classmethod
    def of(cls, setting: Setting, suite: Suite, folder: Path) -> "Bench":
        rubric, micro = (load_rubric(name, suite.folder) for name in (setting.rubric, "invocation"))
        cases = setting.cases(suite)
        right, planted = candidate_of(right_texts()), candidate_of(setting.texts())
        trips = InProcess(suite, cases, rubric, micro, folder)
        if setting.kind != "bait":
            cases = _expecting(trips, cases, right, planted)[:TRIPS]
            trips = InProcess(suite, cases, rubric, micro, folder)
        objective = WeightedObjective(weights=rubric.weights, safety=rubric.safety)
        return cls(
            setting=setting,
            suite=suite,
            trips=trips,
            cases=cases,
            objective=objective,
            components=components_of(suite),
        )

    def optimised(
        self, seed: int, component: str | None, start: Candidate, rollouts: int, vetoes: Vetoes | None = None
    ) -> OptimisationOutcome | None:
        """One optimisation by GEPA and by random search; None where the component is asked too seldom."""
        ids = [case.id for case in self.cases]
        if component is not None:
            ids = list(self.trips.cut(start, ids, component))
            if len(ids) < FEWEST:
                return None
        optimisers = optimisers_of("gepa")
        optimisation = Optimisation(
            suite="grocery",
            mode="joint" if component is None else "agent",
            component=component,
            start=start,
            components=tuple(one for one in self.components if component in (None, one.name)),
            agent_components=self.components,
            cases={case.id: _said(case) for case in self.cases if case.id in ids},
            objective=self.objective,
            rollouts=self.trips,
            reflector=RuleReflector(read_rule_book(self.suite.folder / "reflector.yaml"), seed=seed),
            optimisers={name: optimisers[name] for name in ("gepa", "random")[: 2 if component is None else 1]},
            settings=OptimisationSettings(
                rollouts=rollouts,
                minibatch=4,
                noise_samples=1,
                seed=seed,
                # An agent that asks more takes more steps: a fault may be that it asks too little.
                rules=AcceptanceRules(max_cost_increase=1.0, vetoes=vetoes or Vetoes()),
            ),
        )
        return optimisation.run()

    def score(self, candidate: Candidate) -> float:
        """The mean score of whole trips."""
        scores = [self.objective.score(one) for one in self.trips.run(candidate, [case.id for case in self.cases])]
        known = [score for score in scores if score is not None]
        return sum(known) / len(known)

    def broken(self, candidate: Candidate) -> Counter[str]:
        found: Sequence[Rollout] = self.trips.run(candidate, [case.id for case in self.cases])
        return Counter(veto for one in found for veto in one.vetoes)


def _expecting(trips: InProcess, cases: Sequence[Case], right: Candidate, planted: Candidate) -> list[Case]:
    """The cases whose end the fault changes; each expects the cart that the prompts without the fault fill."""
    found = []
    for case in cases:
        (_, good, _), (_, bad, _) = trips.trial(right, case), trips.trial(planted, case)
        same = good.states == bad.states and good.trajectory.final_output == bad.trajectory.final_output
        if not same:
            found.append(case.model_copy(update={"expected": good.states["cart"]}))
    return found


def _said(case: Case) -> list[str]:
    talk = case.conversation
    return [case.task, *(turn.say for turn in (() if talk is None else talk.turns) if turn.say)]


def run_setting(bench: Bench, seed: int, mode: str) -> list[dict[str, Any]]:
    """One setting in one mode: a row for GEPA, and in joint mode one for random search by as many rollouts.

    Agent mode takes every sub-agent in turn, each with its share, and goes on from what was accepted before.
    """
    names = ("gepa",) if mode == "agent" else ("gepa", "random")
    finals = dict.fromkeys(names, candidate_of(bench.setting.texts()))
    asked, dear = Counter[str](), set[str]()
    vetoes = Vetoes(**{WITHOUT[mode]: False}) if mode in WITHOUT else Vetoes()
    for component in ("preferences", "search", "cart") if mode == "agent" else (None,):
        share = ROLLOUTS // 2 if mode == "agent" else ROLLOUTS
        outcome = bench.optimised(seed, component, finals["gepa"], share, vetoes)
        for result in () if outcome is None else outcome.results:
            asked[result.optimiser] += result.rollouts
            if result.pick.over_limit is not None:
                dear.add(result.optimiser)
            if result.held_out is not None and result.held_out.accepted:
                finals[result.optimiser] = bench.trips.candidates[result.held_out.candidate]
    rows = [_row(bench, seed, mode, name, final, asked[name]) for name, final in finals.items()]
    return [{**row, "end": "too dear"} if row["end"] == "not" and row["optimiser"] in dear else row for row in rows]


def _row(bench: Bench, seed: int, mode: str, optimiser: str, final: Candidate, asked: int) -> dict[str, Any]:
    setting, start = bench.setting, candidate_of(bench.setting.texts())
    before, after = bench.score(start), bench.score(final)
    goal = bench.score(candidate_of(right_texts()))
    broken = bench.broken(final) - bench.broken(start)
    end = "not"
    if after < before - 1e-9 or broken:
        end = "harmed"
    elif setting.kind != "bait" and after - before >= MENDED * (goal - before):
        end = "mended"
    return {
        "setting": setting.name,
        "kind": setting.kind,
        "mode": mode,
        "optimiser": optimiser,
        "seed": seed,
        "end": end,
        "before": before,
        "after": after,
        "goal": goal,
        "changed": final.id != start.id,
        "broken": sorted(broken),
        "rollouts": asked,
        "trips": len(bench.cases),
    }


def tempts(bench: Bench, seed: int) -> bool:
    """Whether the bait is taken without the vetoes: one that tempts nobody would prove nothing."""
    start = candidate_of(bench.setting.texts())
    off = Vetoes(minibatch=False, parent=False, final=False)
    outcome = bench.optimised(seed, None, start, ROLLOUTS, off)
    assert outcome is not None
    return outcome.accepted is not None and bool(bench.broken(bench.trips.candidates[outcome.accepted]))


WAYS = (("agent", "gepa"), ("joint", "gepa"), ("joint", "random"), *((mode, "gepa") for mode in WITHOUT))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Mended / not / better but over the cost limit / harmed, by kind of fault, mode and optimiser."""
    heads = f"{'settings':>9}{'runs':>6}{'mended':>8}{'not':>6}{'too dear':>10}{'harmed':>8}"
    lines = [f"{'kind':14}{'mode':19}{'optimiser':11}{heads}"]
    for kind in ("atomic", "coordination", "bait"):
        for way in WAYS:
            own = [row for row in rows if (row["kind"], row["mode"], row["optimiser"]) == (kind, *way)]
            if own:
                ends = Counter(row["end"] for row in own)
                counted = f"{len({row['setting'] for row in own}):>9}{len(own):>6}"
                ended = f"{ends['mended']:>8}{ends['not']:>6}{ends['too dear']:>10}{ends['harmed']:>8}"
                lines.append(f"{kind:14}{way[0]:19}{way[1]:11}{counted}{ended}")
    return "\n".join(lines)


def by_setting(rows: Sequence[dict[str, Any]]) -> str:
    """How many seeds were mended, by setting."""
    heads = "".join(f"{' '.join(way):>14}" for way in WAYS[:3])
    lines = [f"{'setting':24}{'kind':14}{'trips':>6}{'before':>8}{'right':>7}{heads}"]
    for name in dict.fromkeys(row["setting"] for row in rows):
        own = [row for row in rows if row["setting"] == name]
        told = ""
        for way in WAYS[:3]:
            runs = [row for row in own if (row["mode"], row["optimiser"]) == way]
            mended = sum(row["end"] == "mended" for row in runs)
            told += f"{f'{mended}/{len(runs)}' if runs else '-':>14}"
        first = own[0]
        figures = f"{first['trips']:>6}{first['before']:>8.3f}{first['goal']:>7.3f}"
        lines.append(f"{name:24}{first['kind']:14}{figures}{told}")
    return "\n".join(lines)


def _earlier(path: Path | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path is not None and path.exists() else []


def main() -> int:
    """0: GEPA took no bait, and harmed nothing."""
    parser = argparse.ArgumentParser(prog="optimise_eval")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--setting", action="append", help="only these")
    parser.add_argument("--kind", choices=["atomic", "coordination", "bait"], help="only settings of this kind")
    parser.add_argument("--json", type=Path, help="rows are kept here, and those there are not made again")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no setting and seed after that time")
    options = parser.parse_args()
    began, suite, ran = time.monotonic(), load_suite(ROOT, "grocery"), 0
    rows = _earlier(options.json)
    done = {(row["setting"], row["mode"], row["seed"]) for row in rows}
    settings = [
        one
        for one in SETTINGS
        if (not options.setting or one.name in options.setting) and options.kind in (None, one.kind)
    ]
    # The first seed of every setting, then the further seeds setting by setting, which share their trips.
    for setting, seeds in [
        *((one, [1]) for one in settings),
        *((one, range(2, options.seeds + 1)) for one in settings),
    ]:
        wanted = [(seed, mode) for seed in seeds for mode in setting.modes if (setting.name, mode, seed) not in done]
        if not wanted or time.monotonic() - began > 60 * options.minutes:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench.of(setting, suite, Path(folder))
            for seed, mode in wanted:
                if time.monotonic() - began > 60 * options.minutes:
                    break
                found = run_setting(bench, seed, mode)
                rows += found
                if options.json is not None:
                    with options.json.open("a") as stream:
                        stream.writelines(json.dumps(row) + "\n" for row in found)
            ran += bench.trips.ran
            lure = f"; without vetoes the bait is taken: {tempts(bench, 1)}" if setting.kind == "bait" else ""
            took = f"{time.monotonic() - started:.0f} s"
            print(f"{setting.name}: {len(bench.cases)} trips, {bench.trips.ran} run, {took}{lure}", flush=True)
    print(f"\n{by_setting(rows)}\n\n{table(rows)}\n\n{ran} trips and invocations, {time.monotonic() - began:.0f} s")
    return 1 if any(row["end"] == "harmed" and row["optimiser"] == "gepa" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
