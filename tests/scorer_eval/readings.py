"""Runs that a person read, beside what the detectors say. Kept here: ids and the reader's own words, no data."""

from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from corpus import failed
from layout import share, table
from tau import tau2, taubench
from terminal import kimi

from harness.score.failures import diagnose, recoveries

_HERE = Path(__file__).parent


def read_by_hand(data: Path) -> None:
    """50 failed runs: the reading, the diagnosis, and whether they agree."""
    entries: list[dict[str, Any]] = yaml.safe_load((_HERE / "readings.yaml").read_text())
    runs = {f"{run.dataset}/{run.id}": run for run in (*taubench(data), *tau2(data))}
    rows, agreed, origins, cells = [], 0, 0, Counter[tuple[str, str]]()
    for entry in entries:
        found = diagnose(failed(runs[entry["run"]].evidence))
        names = sorted({one.failure for one in found})
        same = entry["failure"] in names
        agreed += same
        near = any(
            one.failure == entry["failure"]
            and one.origin_step is not None
            and abs(one.origin_step - entry["origin"]) <= 2
            for one in found
            if entry["origin"] is not None
        )
        origins += near
        cells.update((entry["failure"], name) for name in names)
        rows.append(
            [
                entry["run"][-48:],
                entry["failure"],
                entry["origin"],
                ", ".join(names),
                "yes" if same else "no",
                entry["why"],
            ]
        )
    table("Failed runs read by hand", ["run", "reading", "at", "diagnosed", "agree", "in the reader's words"], rows)
    read = Counter(entry["failure"] for entry in entries)
    print(f"  the reading is among the diagnoses: {share(agreed, len(entries))}")
    print(f"  and the origin within one exchange: {share(origins, len(entries))}")
    table(
        "Reading against diagnosis",
        ["reading", "runs", "diagnosed as"],
        [[k, n, {b: c for (a, b), c in cells.items() if a == k}] for k, n in read.most_common()],
    )


def recoveries_by_hand(data: Path) -> None:
    """50 tool errors of kimi's runs: the reading beside the class."""
    entries: list[dict[str, Any]] = yaml.safe_load((_HERE / "recoveries.yaml").read_text())
    found = {f"{run.id}#{number}": one for run in kimi(data) for number, one in enumerate(recoveries(run.evidence))}
    rows, same, cells = [], 0, Counter[tuple[str, str]]()
    for entry in entries:
        one = found[entry["error"]]
        same += one.response == entry["response"]
        cells[entry["response"], one.response] += 1
        if one.response != entry["response"]:
            rows.append([entry["error"], entry["response"], one.response, entry.get("why", "")])
    table("Recoveries read by hand that we class otherwise", ["error", "reading", "class", "why"], rows)
    print(f"  the same class: {share(same, len(entries))}")
    recovered = sum(found[entry["error"]].recovered == entry["recovered"] for entry in entries)
    print(f"  the same answer to 'recovered within 3 calls': {share(recovered, len(entries))}")
