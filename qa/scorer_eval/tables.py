"""The tables of the evaluation: what is found, what is missed and why, by data set and by split."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import call_rules
from layout import share, table
from sources import Labelled, labelled

from harness.scoring.failures.diagnose import diagnose
from harness.scoring.failures.loops import loop_traps
from harness.scoring.failures.reading import read
from harness.scoring.failures.recovery import recoveries
from harness.scoring.scorecard import Failure

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
            found = Counter(f for run in chosen for f in {one.failure for one in diagnose(run.blind)})
            outcome = "succeeded" if success else "failed"
            some = sum(bool(diagnose(run.blind)) for run in chosen)
            cells = [found[failure] for failure in (*FAILURES, "other")]
            rows.append([name, outcome, len(chosen), *cells, share(some, len(chosen))])
    head = ["data set", "outcome", "runs", *FAILURES, "other", "any"]
    table("Runs with each failure, by data set and outcome (no detector is told the outcome)", head, rows)


def confusion(data: Path) -> None:
    """Detected against failed, by data set: a failed run without a finding is `other`."""
    rows = []
    for name, runs in _labelled(data).items():
        cells = Counter((run.success, bool(diagnose(run.blind))) for run in runs if run.success is not None)
        rows.append([name, cells[False, True], cells[False, False], cells[True, True], cells[True, False]])
    head = ["data set", "failed, found", "failed, nothing found", "succeeded, found", "succeeded, nothing found"]
    table("Confusion of 'some failure found' with the outcome (a run can fail in ways that are not modes)", head, rows)
    print("  failed and nothing found: a needed write with another value (an amount, a date, another choice among what")
    print("  was shown), a further write that can be taken back, a word not said, what the user left undone (telecom):")
    print("  no mode, though effect_match sees most of it; on kimi, programs that do not do what was asked, which only")
    print("  checks can see")


def tool_hallucination(data: Path) -> None:
    """ToolBench: calls to a tool that is not available."""
    cells: Counter[str] = Counter()
    for run in labelled(data, "toolbench"):
        found = {
            step
            for one in diagnose(run.blind)
            if one.kind == "invented_tool"
            for step in (one.origin_step, *one.dependent_steps)
        }
        known = {one.name for one in run.evidence.tools}
        steps = run.evidence.trial.trajectory.steps
        real = {step.index for step in steps for call in step.calls if call.name not in known}
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
    looping = labelled(data, "mirage")
    good = [run for runs in _labelled(data).values() for run in runs if run.success]
    rules: dict[str, Callable[[Labelled], bool]] = {
        "ours": lambda run: bool(loop_traps(read(run.blind))),
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
    alarms = [run.id for run in good if loop_traps(read(run.blind))]
    print(f"  alarms in successful runs: {', '.join(alarms) or 'none'}")
    long = [run for run in good if len(run.evidence.trial.trajectory.calls) > 10]
    print(f"  of the {len(long)} successful runs with more than 10 calls: {sum(map(rules['ours'], long))}")


def recovery(data: Path) -> None:
    """kimi: every tool error classified."""
    runs = labelled(data, "kimi")
    found = [one for run in runs for one in recoveries(run.evidence)]
    calls = sum(len(run.evidence.trial.trajectory.calls) for run in runs)
    rows = Counter((one.response, one.recovered) for one in found)
    names = sorted({name for name, _ in rows})
    table(
        f"Recovery: kimi, {len(found)} tool errors in {calls} calls of {len(runs)} runs",
        ["response", "recovered within 3 calls", "not"],
        [[name, rows[name, True], rows[name, False]] for name in names],
    )


def _labelled(data: Path) -> dict[str, tuple[Labelled, ...]]:
    return {name: labelled(data, name) for name in ("taubench", "tau2", "react_text", "kimi", "sweagent")}
