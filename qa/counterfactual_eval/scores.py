"""Mutation scores of suites, with the holes that were found.

    python -m qa.counterfactual_eval.scores [--project FOLDER] [--sandbox docker-warm] [--keep] [SUITE ...]

Without a name, all suites of the project. A suite with a model of rules is answered by it, because a mutant leads to
requests that no cassette holds. `--keep` stores each score in the suite's baseline.
"""

import argparse
import json
from pathlib import Path

from harness.errors import HarnessError
from harness.improve.mutation import MOST, MutationReport, mutate
from harness.runs.execution.variants import variant_tool_mode
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.baseline import keep_mutation_score
from harness.suite.loading import load_suite
from qa.counterfactual_eval.rule_models import answered_by_rules

PROJECT = Path(__file__).resolve().parents[2]


def scored(project: Path, name: str, asked: argparse.Namespace) -> MutationReport:
    suite = load_suite(project, name)
    options = RunOptions(
        suite=name,
        tools=variant_tool_mode(suite),
        model=None if suite.model is None else "replay",
        sandbox=asked.sandbox,
        cases=tuple(one.id for one in suite.cases[:: asked.every]),
    )
    with answered_by_rules(plan_of(project, options)) as plan:
        report = mutate(plan, asked.mutants, lambda words: print(f"  {words}", flush=True))
    if asked.keep:
        keep_mutation_score(project, name, report.score, report.total.mutants, suite.digest)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="default: all")
    parser.add_argument("--project", type=Path, default=PROJECT)
    parser.add_argument("--sandbox", default="docker-warm")
    parser.add_argument("--mutants", type=int, default=MOST)
    parser.add_argument("--every", type=int, default=1, help="each so many cases one")
    parser.add_argument("--keep", action="store_true", help="store the scores in the baselines")
    parser.add_argument("--json", type=Path, help="folder for the reports")
    asked = parser.parse_args()
    names = asked.suites or sorted(one.parent.name for one in (asked.project / "suites").glob("*/suite.yaml"))
    for name in names:
        try:
            report = scored(asked.project, name, asked)
        except HarnessError as error:
            print(f"{name:18}{error.message}", flush=True)
            continue
        total, score = report.total, "not measured" if report.score is None else f"{report.score:.1%}"
        print(
            f"{name:18}{score}: {total.noticed} of {total.noticed + total.unnoticed} noticed, {total.equivalent}"
            f" equivalent, {total.unmeasured} not measured; {report.trials} trials, {report.seconds:.0f} s",
            flush=True,
        )
        for hole in report.holes:
            print(f"  hole {hole.case_id} step {hole.step}: {hole.words} | {hole.changed}", flush=True)
        if asked.json is not None:
            (asked.json / f"{name}.json").write_text(json.dumps(report.model_dump(mode="json"), indent=1))


if __name__ == "__main__":
    main()
