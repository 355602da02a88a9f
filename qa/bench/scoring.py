"""How fast stored trajectories are scored, and how fast two long runs are compared. Prints rates a core.

The trajectories are the real tau2 runs in the data folder (HARNESS_REAL_DATA), or made ones of the same shape where it
is absent. They are written as ordinary run folders first; what is timed is what `harness score` and `harness compare`
do with them: read, check the snapshot, parse, score with all metrics and detectors. Time is the process's own, so that
other work on the machine does not count.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness.reports.compare import compare_runs
from harness.runs.store.folder import RunFolder, gc_paused
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.agents import AgentVersion
from harness.suite.digests import suite_digest
from harness.suite.suites import Suite
from qa.bench.made_trials import made

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "findings_eval"))
WANTED_PER_S = 300
WANTED_COMPARE_S = 10
PAIRS = 10_000


def main() -> int:
    """Exit status 1 where a target is missed."""
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        rate, memory, trials = scoring(Path(temporary))
        seconds, pairs = comparing(Path(temporary))
    print(
        f"scoring    {rate:7.0f} trajectories/s a core (wanted {WANTED_PER_S}), {trials} stored, peak {memory:.0f} MB"
    )
    print(f"comparing  {seconds:7.2f} s for two runs of {pairs} trials (wanted {WANTED_COMPARE_S})")
    return int(rate < WANTED_PER_S or seconds > WANTED_COMPARE_S)


def scoring(root: Path) -> tuple[float, float, int]:
    """Trajectories a second of processor time, the process's peak memory, and how many there were."""
    parts = []
    for domain, evidences in by_domain().items():
        suite = suite_of(domain, evidences)
        parts.append((suite, stored(root, domain, suite, evidences)))
    count, spent = 0, 0.0
    for suite, folder in parts:
        scorer = build_scorer(suite)
        cases = {case.id: case for case in suite.cases}
        began = time.process_time()
        with gc_paused():  # as `harness score` pauses it
            for one in folder.trials():
                scorer.score(Evidence(case=cases[one.trial.case_id], trial=one.trial, tools=suite.tools))
                count += 1
        spent += time.process_time() - began
    return count / spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, count


def comparing(root: Path) -> tuple[float, int]:
    """Seconds of processor time to read and to compare two runs."""
    domain, evidences = next(iter(by_domain().items()))
    suite = suite_of(domain, evidences)
    scorer = build_scorer(suite)
    cards = [scorer.score(evidence) for evidence in evidences[:50]]
    runs = []
    for number in (1, 2):
        planned = tuple(PlannedTrial(case_id=f"c{place // 2}", attempt=place % 2 + 1) for place in range(PAIRS))
        run = manifest(f"compare-{number}", suite, scorer, planned)
        with RunFolder.create(root, run) as folder:
            for place, one in enumerate(planned):
                card = cards[(place * number) % len(cards)].model_copy(
                    update={"case_id": one.case_id, "attempt": one.attempt, "success": (place * number) % 3 > 0}
                )
                quick_commit(folder, one, card.model_dump(mode="json"))
        runs.append(folder.path)
    began = time.process_time()
    found = compare_runs(RunFolder.open(runs[0]), RunFolder.open(runs[1]))
    return time.process_time() - began, found.success.pairs


def quick_commit(folder: RunFolder, one: PlannedTrial, card: object) -> None:
    """A trial's folder as `commit` leaves it, without its waits for the disk."""
    import hashlib

    target = folder.path / "trials" / one.case_id / str(one.attempt)
    target.mkdir(parents=True)
    content = json.dumps(card).encode()
    (target / "scorecard.json").write_bytes(content)
    (target / "seal.json").write_text(json.dumps({"scorecard.json": hashlib.sha256(content).hexdigest()}))


def stored(root: Path, name: str, suite: Suite, evidences: list[Evidence]) -> RunFolder:
    """The trials on disk, read back from there."""
    planned = tuple(PlannedTrial(case_id=one.case.id, attempt=1) for one in evidences)
    with RunFolder.create(root, manifest(name, suite, build_scorer(suite), planned)) as folder:
        for one in evidences:
            card = build_card(one)
            folder.commit(one.trial.model_copy(update={"case_id": one.case.id, "attempt": 1}), (), card)
    return RunFolder.open(folder.path)


def build_card(evidence: Evidence):
    from harness.scoring.scorecard import Scorecard

    return Scorecard(
        case_id=evidence.case.id,
        attempt=1,
        category="c",
        outcome="finished",
        success=None,
        digest="",
    )


def manifest(name: str, suite: Suite, scorer: Scorer, planned: tuple[PlannedTrial, ...]) -> RunManifest:
    return RunManifest(
        run=name,
        created="2026-01-31T12:00:00Z",
        harness_version="0",
        suite=suite.name,
        suite_digest=suite.digest,
        agent="a",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        scorer_versions=scorer.versions,
        planned=planned,
    )


def suite_of(name: str, evidences: list[Evidence]) -> Suite:
    """The cases and tools of the trials, judged by the usual checks of the way."""
    suite = Suite(
        name=name,
        folder=Path(),
        agents={"a": AgentVersion(command=("true",), files=".")},
        tools=evidences[0].tools,
        cases=tuple(one.case for one in evidences),
        digest="",
    )
    return suite.model_copy(update={"digest": suite_digest(suite)})


def by_domain() -> dict[str, list[Evidence]]:
    """Cases renamed, so that each trial has one of its own."""
    found: dict[str, list[Evidence]] = {}
    for number, (domain, evidence) in enumerate(evidences()):
        case = evidence.case.model_copy(update={"id": f"{domain}-{number}"})
        found.setdefault(domain, []).append(evidence.model_copy(update={"case": case}))
    return found


def evidences() -> Iterator[tuple[str, Evidence]]:
    from corpus import data_folder
    from sources import labelled

    if (data_folder() / "tau2").is_dir():
        yield from ((run.evidence.case.category, run.blind) for run in labelled(data_folder(), "tau2"))
        return
    print("the real runs are absent: made ones of their shape are scored", file=sys.stderr)
    yield from made()


if __name__ == "__main__":
    sys.exit(main())
