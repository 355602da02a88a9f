"""The tables of the evaluation: what is found, what is missed and why, by data set and by split."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import call_rules
from corpora.tau import tau2, taubench
from corpora.terminal import kimi, sweagent
from corpora.treelike import react_text, toolbench
from corpus import Run
from layout import share, table
from loops import mirage

from harness.ingest import import_file
from harness.score.evidence import Evidence
from harness.score.failures import Failure, diagnose, recoveries
from harness.score.failures.modes.loop_trap import loop_traps
from harness.score.failures.signals.reading import read

FAILURES: tuple[Failure, ...] = (
    "loop_trap",
    "goal_drift",
    "tool_hallucination",
    "premature_commitment",
    "cascading_error",
)
SPLITS = ("development", "held-out")


def by_data_set(data: Path) -> None:
    """Which failures are found in which runs; in those that succeeded, each is an alarm to be looked at."""
    rows = []
    for name, runs in _labelled(data).items():
        for success in (True, False):
            chosen = [run for run in runs if run.success is success]
            if not chosen:
                continue
            found = Counter(f for run in chosen for f in {one.failure for one in diagnose(run.evidence)})
            outcome = "succeeded" if success else "failed"
            some = sum(bool(diagnose(run.evidence)) for run in chosen)
            cells = [found[failure] for failure in (*FAILURES, "other")]
            rows.append([name, outcome, len(chosen), *cells, share(some, len(chosen))])
    head = ["data set", "outcome", "runs", *FAILURES, "other", "any"]
    table("Runs with each failure, by data set and outcome (no detector is told the outcome)", head, rows)


def confusion(data: Path) -> None:
    """Detected against failed, by data set: a failed run without a finding is `other`."""
    rows = []
    for name, runs in _labelled(data).items():
        cells = Counter((run.success, bool(diagnose(run.evidence))) for run in runs if run.success is not None)
        rows.append([name, cells[False, True], cells[False, False], cells[True, True], cells[True, False]])
    head = ["data set", "failed, found", "failed, nothing found", "succeeded, found", "succeeded, nothing found"]
    table("Confusion of 'some failure found' with the outcome (a run can fail in ways that are not modes)", head, rows)
    print("  failed and nothing found: a needed write with another value (an amount, a date, another choice among what")
    print("  was shown), a further write that can be taken back, a word not said, what the user left undone (telecom):")
    print("  no mode, though effect_match sees most of it; on kimi, programs that do not do what was asked, which only")
    print("  checks can see")


def imported(data: Path) -> None:
    """The same runs as `harness import` reads them: what is found must not hang on the reader."""
    rows = []
    for format, paths in {
        "tau-bench": [data / "taubench/historical_trajectories/gpt-4o-airline.json"],
        "tau2": sorted((data / "tau2").glob("*.json")),
    }.items():
        found: list[tuple[bool, frozenset[str]]] = []
        for run in (import_file(format, path) for path in paths):
            cases = {case.id: case for case in run.suite.cases}
            for trial, _ in run.trials:
                evidence = Evidence(case=cases[trial.case_id], trial=trial, tools=run.suite.tools)
                success = run.rewards.get((trial.case_id, trial.attempt)) == 1.0
                found.append((success, frozenset(one.failure for one in diagnose(evidence))))
        for success in (True, False):
            own = [names for good, names in found if good is success]
            cells = [sum(failure in names for names in own) for failure in (*FAILURES, "other")]
            rows.append(
                [format, "succeeded" if success else "failed", len(own), *cells, share(sum(map(bool, own)), len(own))]
            )
    table("The same, read by `harness import`", ["format", "outcome", "runs", *FAILURES, "other", "any"], rows)


def tool_hallucination(data: Path) -> None:
    """ToolBench: calls to a tool that is not available."""
    cells: Counter[str] = Counter()
    for run in toolbench(data):
        found = {
            step
            for one in diagnose(run.evidence)
            if one.kind == "invented_tool"
            for step in (one.origin_step, *one.dependent_steps)
        }
        real = set(run.label["unavailable"])
        cells.update(runs=bool(real), calls=len(run.evidence.trial.trajectory.calls))
        cells.update(hit=len(found & real), false=len(found - real), missed=len(real - found))
    head = ["calls", "to no tool", "runs", "found", "missed", "false"]
    values = [
        cells["calls"],
        cells["hit"] + cells["missed"],
        cells["runs"],
        cells["hit"],
        cells["missed"],
        cells["false"],
    ]
    table(
        "Tool hallucination: ToolBench, calls to a tool that is not available (all is rule, none is tuned)",
        head,
        [values],
    )


def loops(data: Path) -> None:
    """Recall on mirage, false alarms on the successful runs of the other sets, beside three rules."""
    looping = list(mirage(data))
    good = [run for runs in _labelled(data).values() for run in runs if run.success]
    rules: dict[str, Callable[[Run], bool]] = {
        "ours": lambda run: bool(loop_traps(read(run.evidence))),
        "cycle of period <= 4, three times": lambda run: call_rules.cycle(call_rules.keys(run.evidence)),
        "three identical calls": lambda run: call_rules.three_identical(call_rules.keys(run.evidence)),
        "more than 10 calls": lambda run: call_rules.longer_than(10)(call_rules.keys(run.evidence)),
        "more than 20 calls": lambda run: call_rules.longer_than(20)(call_rules.keys(run.evidence)),
    }
    rows = []
    for name, rule in rules.items():
        row = [name]
        for split in SPLITS:
            part = [run for run in looping if run.split == split]
            calm = [run for run in good if run.split == split]
            row += [share(sum(map(rule, part)), len(part)), share(sum(map(rule, calm)), len(calm))]
        rows.append(row)
    head = ["rule"] + [f"{split} {what}" for split in SPLITS for what in ("recall", "false alarms")]
    table(
        "Loop trap: mirage (recall) and successful runs of tau-bench, tau2, kimi, SWE-agent, ReAct (false alarms)",
        head,
        rows,
    )
    alarms = [run.id for run in good if loop_traps(read(run.evidence))]
    print(f"  alarms in successful runs: {', '.join(alarms) or 'none'}")
    long = [run for run in good if len(run.evidence.trial.trajectory.calls) > 10]
    print(f"  of the {len(long)} successful runs with more than 10 calls: {sum(map(rules['ours'], long))}")


def recovery(data: Path) -> None:
    """kimi: every tool error classified."""
    runs = list(kimi(data))
    found = [one for run in runs for one in recoveries(run.evidence)]
    calls = sum(len(run.evidence.trial.trajectory.calls) for run in runs)
    rows = Counter((one.response, one.recovered) for one in found)
    names = sorted({name for name, _ in rows})
    table(
        f"Recovery: kimi, {len(found)} tool errors in {calls} calls of {len(runs)} runs",
        ["response", "recovered within 3 calls", "not"],
        [[name, rows[name, True], rows[name, False]] for name in names],
    )


def _labelled(data: Path) -> dict[str, list[Run]]:
    return {
        "taubench": list(taubench(data)),
        "tau2": list(tau2(data)),
        "react_text": list(react_text(data)),
        "kimi": list(kimi(data)),
        "sweagent": list(sweagent(data)),
    }
