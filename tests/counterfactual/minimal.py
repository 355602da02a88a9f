"""Failing cases made minimal: which share of each kind of part is left, with the failure still the same.

python -m tests.counterfactual.minimal [--sandbox local] [--most 30] [--budget 200] SUITE[:AGENT] ...
"""

import argparse
import time
from pathlib import Path
from statistics import median

from harness.case import load_suite
from harness.counterfactual import MinimalCase, MinimiseRequest, minimise, open_subject_of
from harness.errors import HarnessError
from harness.pipeline import RunOptions, Watch, plan_of, run_plan
from harness.trace import MEASURED

PROJECT = Path(__file__).resolve().parents[2]


def minimal_cases(suite_name: str, agent: str | None, sandbox: str, budget: int, most: int) -> list[MinimalCase]:
    """The failing cases of one agent, made minimal; at most so many."""
    suite = load_suite(PROJECT, suite_name)
    model = None if suite.model is None else "replay"
    options = RunOptions(suite=suite_name, agent=agent, sandbox=sandbox, model=model)
    folder = run_plan(plan_of(PROJECT, options), Watch())
    found: list[MinimalCase] = []
    for card in folder.scorecards():
        if card.success is not False or card.outcome not in MEASURED or len(found) == most:
            continue
        subject = open_subject_of(PROJECT, folder, card.case_id)
        try:
            one, _ = minimise(subject, MinimiseRequest(options=RunOptions(sandbox=sandbox), budget=budget))
        except HarnessError as error:
            print(f"  {card.case_id}: {error.message}", flush=True)
            continue
        found.append(one)
        print(f"  {card.case_id}: {one.before} -> {one.after}, {one.trials} trials", flush=True)
    return found


def shares(cases: list[MinimalCase], kind: str) -> list[float]:
    return [one.after[kind] / one.before[kind] for one in cases if one.before.get(kind)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "suites", nargs="*", default=["drive_thru:v1", "basics:naive", "library_desk:hasty", "grocery:hasty"]
    )
    parser.add_argument("--sandbox", default="local")
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--budget", type=int, default=200)
    asked = parser.parse_args()
    cases, began = list[MinimalCase](), time.monotonic()
    for one in asked.suites:
        name, _, agent = one.partition(":")
        cases += minimal_cases(name, agent or None, asked.sandbox, asked.budget, asked.most - len(cases))
    print(f"{len(cases)} failing cases made minimal, all failing in the same way; median share left")
    for kind in sorted({kind for one in cases for kind in one.before}):
        found = shares(cases, kind)
        print(f"  {kind:12}{median(found):.0%} of {len(found)} cases that have any")
    print(f"  {'all parts':12}{median(one.share_left for one in cases):.0%}")
    print(f"{sum(one.trials for one in cases)} trials, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
