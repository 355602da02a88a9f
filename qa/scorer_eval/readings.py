"""Runs that a person read, beside what the detectors say. Kept here: ids and the reader's own words, no data."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from corpus import failed
from layout import share, table
from sources import labelled

from harness.scoring.failures.diagnose import diagnose
from harness.scoring.failures.recovery import recoveries
from harness.scoring.scorecard import Diagnosis

_HERE = Path(__file__).parent
FAILURES = ("loop_trap", "goal_drift", "tool_hallucination", "premature_commitment", "cascading_error", "other")


WHY = {
    "premature_commitment": "a choice made for the user instead of asking (means of payment, insurance), a return leg "
    "dropped, or a setting that only the user's own calls could show: values and reads that nobody asks for by name",
    "other": "a refusal before the reference's reads were made, which looks like an early stop",
    "cascading_error": "a wrong sum or price that is carried on: amounts are computed, and are not looked at",
    "goal_drift": "another goal within the same entities: only words and the state show it",
}
"""Why the reading is not among the diagnoses, by reading."""


def read_by_hand(data: Path) -> None:
    """50 failed runs: the reading, the diagnosis, whether they agree, and why not."""
    entries: list[dict[str, Any]] = yaml.safe_load((_HERE / "readings.yaml").read_text())
    runs = {f"{run.source}/{run.id}": run for name in ("taubench", "tau2") for run in labelled(data, name)}
    read = [(entry, runs[entry["run"]], diagnose(failed(runs[entry["run"]].blind))) for entry in entries]
    rows = []
    for entry, run, found in read:
        names = sorted({one.failure for one in found})
        same = "yes" if entry["failure"] in names else "no"
        short = run.id[-36:]
        rows.append([run.source, short, entry["failure"], entry["origin"], ", ".join(names), same, entry["why"]])
    head = ["data set", "run", "reading", "at", "diagnosed", "agree", "in the reader's words"]
    table("Failed runs read by hand", head, rows)
    rows = []
    for split in ("development", "held-out", "all"):
        part = [(entry, found) for entry, run, found in read if split in ("all", run.split)]
        agreed = sum(entry["failure"] in {one.failure for one in found} for entry, found in part)
        near = sum(_near(entry, found) for entry, found in part)
        rows.append([split, share(agreed, len(part)), share(near, len(part))])
    head = ["split", "the reading is among the diagnoses", "and the origin within one exchange"]
    table("Agreement with the readings", head, rows)
    for dataset in ("taubench", "tau2"):
        part = [(entry, found) for entry, run, found in read if run.source == dataset]
        _reading_matrix(dataset, part)


def _near(entry: dict[str, Any], found: Sequence[Diagnosis]) -> bool:
    said = [one.origin_step for one in found if one.failure == entry["failure"] and one.origin_step is not None]
    return entry["origin"] is not None and any(abs(step - entry["origin"]) <= 2 for step in said)


def _reading_matrix(dataset: str, part: Sequence[tuple[dict[str, Any], Sequence[Diagnosis]]]) -> None:
    rows = []
    for reading in FAILURES:
        own = [{one.failure for one in found} for entry, found in part if entry["failure"] == reading]
        if own:
            missed = sum(reading not in names for names in own)
            why = WHY.get(reading, "") if missed else ""
            rows.append([reading, len(own), *(sum(name in names for names in own) for name in FAILURES), missed, why])
    head = ["reading", "runs", *FAILURES, "missed", "why"]
    table(f"Confusion on {dataset}: readings (rows) against diagnoses (columns)", head, rows)


def recoveries_by_hand(data: Path) -> None:
    """50 tool errors of kimi's runs: the reading beside the class."""
    entries: list[dict[str, Any]] = yaml.safe_load((_HERE / "recoveries.yaml").read_text())
    runs = labelled(data, "kimi")
    found = {f"{run.id}#{number}": one for run in runs for number, one in enumerate(recoveries(run.evidence))}
    rows, same, cells = [], 0, Counter[tuple[str, str]]()
    for entry in entries:
        one = found[entry["error"]]
        same += one.response == entry["response"]
        cells[entry["response"], one.response] += 1
        if one.response != entry["response"]:
            rows.append([entry["error"], entry["response"], one.response, entry.get("why", "")])
    table("Recoveries read by hand that we class otherwise", ["error", "reading", "class", "why"], rows)
    print(f"  the same class: {share(same, len(entries))}")
    names = sorted({name for pair in cells for name in pair})
    matrix = [[name, *(cells[name, other] for other in names)] for name in names]
    table("Confusion on kimi: recoveries as read (rows) against their class (columns)", ["reading", *names], matrix)
    print("  missed: a shell command says little of its purpose, so that another program on other files, which")
    print("  a reader takes for another way to the goal, is told by common names alone")
    recovered = sum(found[entry["error"]].recovered == entry["recovered"] for entry in entries)
    print(f"  the same answer to 'recovered within 3 calls': {share(recovered, len(entries))}")
