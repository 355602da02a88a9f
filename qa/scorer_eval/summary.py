"""The protocol in short: each mode and source in sample, left out and beside the floors; each kind by source; speed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time

from layout import share, table
from sources import MODES, SETS, UNREAD, Labelled

from harness.runs.foreign_runs import import_file
from harness.runs.importing import with_rewards
from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import findings
from harness.scoring.failures.ranking import INFERRED, Fitted
from harness.scoring.scorer import build_scorer
from qa.converters import imported as import_set

Runs = Mapping[str, Sequence[Labelled]]


def kinds(all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """What people gave the runs in which a kind stands, and what the kind is by the rule."""
    rows = []
    for kind, by_source in all_.findings.items():
        how = "inferred" if kind in INFERRED else "by definition"
        standing = "finding" if all_.is_finding(kind) else "hint"
        for source, seen in by_source.items():
            left_out = "finding" if without[source].is_finding(kind) else "hint"
            says = "confirms" if seen.confirms else "refutes" if seen.refutes else ""
            right, at_large = f"{seen.right}/{seen.cases}", f"{seen.labelled}/{seen.runs}"
            rows.append([kind, how, source, right, at_large, says, standing, left_out])
    head = ["kind", "how", "set", "right", "at large", "the set", "in sample", "without the set"]
    table("Each kind by source: runs that people gave its mode, of those in which it stands", head, rows)


def in_short(rows: Sequence[Sequence[object]]) -> None:
    """F1 in sample and left out beside the best floor of each, from the rows of the long table."""
    figures = {(str(row[0]), str(row[1]), str(row[2])): float(str(row[7])) for row in rows}
    aucs = {(str(row[0]), str(row[1])): str(row[9]) for row in rows if row[2] == "ours, without the set"}
    sizes = {(str(row[0]), str(row[1])): (row[3], row[4]) for row in rows}
    told = []
    for (mode, name), (size, labelled) in sizes.items():
        own = {rule: value for (m, n, rule), value in figures.items() if (m, n) == (mode, name)}
        inside = max(value for rule, value in own.items() if not rule.startswith("ours") and "without" not in rule)
        outside = max(value for rule, value in own.items() if not rule.startswith("ours") and "in sample" not in rule)
        ours, left_out = own["ours, in sample"], own["ours, without the set"]
        beats = "yes" if left_out > outside else "no"
        shown = [f"{one:.2f}" for one in (ours, left_out, inside, outside)]
        rules = "" if name == "together" else "unread" if name in UNREAD else "read before"
        told.append([mode, name, size, labelled, *shown, beats, aucs[mode, name], rules])
    head = ["mode", "set", "runs", "labelled", "F1 in sample", "F1 left out", "floor in sample", "floor left out"]
    table(
        "In short: F1 beside the best floor", [*head, "beats it", "AUC left out (95 %)", "by the rules' writers"], told
    )


def others_without_their_reward(runs: Runs, numbers: Fitted) -> None:
    """Findings on rewarded runs as if the reward were not known: it must not be the reward that keeps them silent."""
    rows = []
    for name, some in runs.items():
        good = [one for one in some if one.success]
        if not good:
            continue
        flagged: dict[str, int] = dict.fromkeys(MODES, 0)
        any_mode = 0
        for run in good:
            found = _modes_of(run.evidence.model_copy(update={"verdicts": ()}), numbers)
            any_mode += bool(found)
            for mode in found:
                flagged[mode] += 1
        rows.append([name, len(good), *flagged.values(), share(any_mode, len(good))])
    table("Alarms on the same runs with their reward hidden", ["set", "runs", *MODES, "any"], rows)


def _modes_of(evidence: Evidence, numbers: Fitted) -> set[str]:
    return {one.failure for one in findings(evidence, numbers)[0]} & set(MODES)


def speed(data: Path) -> None:
    """Processor time, so that other work on the machine does not count."""
    rows = []
    imported = [import_file("tau2", path) for path in sorted(data.glob(SETS["tau2"].path))]
    prepared = []
    for one in imported:
        suite = with_rewards(one)
        cases = {case.id: case for case in suite.cases}
        found = [Evidence(case=cases[trial.case_id], trial=trial, tools=suite.tools) for trial, _ in one.trials]
        prepared.append((build_scorer(suite), found))
    begun = process_time()
    for scorer, found in prepared:
        for evidence in found:
            scorer.score(evidence)
    taken = process_time() - begun
    count = sum(len(found) for _, found in prepared)
    rows.append(["scored with everything on", f"{count} tau2 runs", f"{count / taken:.0f} a second"])
    largest = max(data.glob("trail/*/traces/*.json"), key=lambda path: path.stat().st_size)
    begun = process_time()
    import_set("trail", largest)
    taken, size = process_time() - begun, largest.stat().st_size / 1e6
    rows.append(["imported", f"a trace of {size:.1f} MB", f"{size / taken:.1f} MB a second"])
    table("Speed (processor time, one core)", ["what", "of", "speed"], rows)
