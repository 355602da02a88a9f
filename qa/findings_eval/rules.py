"""Learned rules on planted single faults: found, step, and passing trials flagged; see `qa.rules_eval`."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from layout import Figure, share

from qa.rules_eval.__main__ import ROOT, Counts, Passing, cases_left_out, imported, one_workflow, same_cases, stored

TUNED = frozenset({"grocery", "drive_thru", "tau2 retail"})
"""The limits of `harness.scoring.rules.candidates` were chosen on these."""
SEEN = frozenset({"tau2 airline", "tau2 telecom", "taubench airline"})
"""Of these, counts of faults found and trials flagged were seen when the limits were chosen last."""
SUITES = ("grocery", "drive_thru", "drive_thru_talk", "library_desk", "basics")
BENCHMARKS = {
    "tau2 retail": (
        "tau2/ft-gpt-4.1_retail_default_1trial.json",
        "tau2/gpt-4.1_retail_default_1trial.json",
        "tau2_toolorchestra/toolorchestra_retail_gpt-5_1trial.json",
    ),
    "tau2 airline": (
        "tau2/azure-gpt-4o_airline_full.json",
        "tau2/ft-gpt-4.1_airline_default_1trial.json",
        "tau2/gpt-4.1_airline_default_1trial.json",
        "tau2_toolorchestra/toolorchestra_airline_gpt-5_1trial.json",
    ),
    "tau2 telecom": (
        "tau2/ft-gpt-4.1_telecom_default_1trial.json",
        "tau2/gpt-4.1_telecom_default_1trial.json",
        "tau2/gpt-4o_telecom_20tasks.json",
    ),
    "taubench airline": ("taubench/historical_trajectories/gpt-4o-airline.json",),
}
"""Runs of several agents, joined to one suite."""


def figures(data: Path) -> Iterator[Figure]:
    """The rows of the table of figures to reach."""
    for suite in SUITES:
        trials, writes = _replayed(suite)
        yield from _rows(suite, "the same cases", same_cases(trials, writes), (">= 95 %", "<= 1 %"))
        if len({one.case for one in trials}) >= 20:
            yield from _rows(suite, "cases left out", cases_left_out(trials, writes), (">= 65 %", "<= 4 %"))
    yield from _rows("a generated one", "one workflow with other data", one_workflow(), (">= 83 %", "<= 1 %"))
    for name, files in BENCHMARKS.items():
        parts = [imported("tau2" if name.startswith("tau2") else "tau-bench", data / file) for file in files]
        trials = [one for rows, _ in parts for one in rows]
        writes = frozenset[str]().union(*(own for _, own in parts))
        yield from _rows(name, "cases left out", cases_left_out(trials, writes), (">= 65 %", "<= 4 %"))


def _rows(name: str, which: str, counts: Counts, goals: Sequence[str]) -> Iterator[Figure]:
    note = "tuned on it" if name in TUNED else "counts seen" if name in SEEN else "not tuned on it"
    found, tried, exact = (sum(one.values()) for one in (counts.found, counts.tried, counts.exact))
    yield Figure(f"rules, {which}, {name}: faults found", goals[0], share(found, tried), note)
    yield Figure(f"rules, {which}, {name}: passing flagged", goals[1], share(counts.flagged, counts.trials), note)
    yield Figure(f"rules, {which}, {name}: step exact", ">= 90 %", share(exact, found), "of those found")


def _replayed(suite: str) -> tuple[list[Passing], frozenset[str]]:
    """The passing trials of the suite's default agent, replayed now."""
    run = f"findings-eval-{suite}"
    shutil.rmtree(ROOT / "runs" / run, ignore_errors=True)
    words = [sys.executable, "-m", "harness", "--project", str(ROOT), "run", suite, "--run-name", run]
    subprocess.run([*words, "--sandbox", "docker-warm"], check=False, capture_output=True)
    try:
        return stored(run)
    finally:
        shutil.rmtree(ROOT / "runs" / run, ignore_errors=True)
