"""Large stored runs: what a command takes in a run of many trials, and `trend` over many runs.

The runs are made file by file, without a flush each: 100,000 real trials would take hours. Every command is a process
of its own; printed are its processor seconds and its largest memory. Held against the promises are the memory, and the
ratio to `python -c pass`, so that a slow machine does not count.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.runs.store.folder import RunFolder
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Diagnosis, Score, Scorecard, ToolUse
from qa.bench.figures import Target, show
from tests.reports.html.runs import manifest, trial

COMMANDS = {
    "runs": ["runs"],
    "explain, one trial": ["explain", "large", "case-00000", "--attempt", "7"],
    "trials --json": ["trials", "large", "--json"],
    "report": ["report", "large"],
    "compare": ["compare", "large", "second"],
    "trend": ["trend", "s", "--last", "2"],
}
ONE_TRIAL = ("runs", "explain, one trial")
MANY, OF = 1_000, 25


def main() -> int:
    """Exit status 1 if a promise is not met."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=100_000)
    options.add_argument("--project", type=Path, help="Use the runs of this folder, and make them there.")
    options.add_argument("--only", action="append", choices=[*COMMANDS, "trend, 1,000 runs"])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        project = chosen.project or Path(temporary)
        if not project.is_dir() or not any(project.iterdir()):
            make(project / "one" / "runs", "large", chosen.trials // 10)
            make(project / "one" / "runs", "second", chosen.trials // 10, wrong=7)
            for number in range(MANY):
                make(project / "many" / "runs", f"run-{number:04d}", OF, attempts=1, release=f"r{number // 20:03d}")
        figures, targets = measured(project, chosen.only or [*COMMANDS, "trend, 1,000 runs"])
    show(figures, targets)
    return int(any(not one.met(figures[one.figure]) for one in targets))


def measured(project: Path, names: Sequence[str]) -> tuple[dict[str, float], list[Target]]:
    """What each of the named commands takes, and what it may take."""
    figures: dict[str, float] = {}
    targets = []
    floor = min(spent([sys.executable, "-c", "pass"])[0] for _ in range(5))
    for name in names:
        many = name not in COMMANDS
        line = ["trend", "s"] if many else COMMANDS[name]
        seconds, mb = spent(
            [sys.executable, "-m", "harness", "--project", str(project / ("many" if many else "one")), *line]
        )
        figures |= {f"{name}: s": seconds, f"{name}: MB": mb}
        targets.append(Target(figure=f"{name}: MB", bound=100 if name in ONE_TRIAL else 200 if many else 300))
        if many or name in ONE_TRIAL:
            figures[f"{name}: x python -c pass"] = seconds / floor
            targets.append(Target(figure=f"{name}: x python -c pass", bound=100 if many else 50))
    return figures, targets


_SPENT = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
"""Started between: the kernel counts the memory of the program that starts another one as that one's own."""


def spent(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of processor time, and the largest memory in MB."""
    told = subprocess.run([sys.executable, "-c", _SPENT, *command], stdout=subprocess.PIPE, check=True)
    status, seconds, mb = json.loads(told.stdout)
    assert status == 0, command
    return seconds, mb


def make(root: Path, run: str, cases: int, *, attempts: int = 10, wrong: int = 5, **fields: str) -> None:
    """A run of so many cases, in which one trial of `wrong` fails; its end is the harness's own."""
    keys = [(f"case-{number:05d}", attempt) for number in range(cases) for attempt in range(1, attempts + 1)]
    made = manifest(keys, run, **{"created": f"2026-01-31T12:00:00Z {run}", **fields})
    with RunFolder.create(root, made) as folder:
        first = folder.commit(trial(*keys[0], "an egg", {}), (), card(0, *keys[0], wrong))
        shown = (first / "trial.json").read_text()
        for number, key in enumerate(keys[1:], start=1):
            own = shown.replace(keys[0][0], key[0], 1).replace('"attempt": 1', f'"attempt": {key[1]}', 1)
            files = {
                "trial.json": own,
                "spans.jsonl": "",
                "scorecard.json": card(number, *key, wrong).model_dump_json(),
            }
            target = folder.path / "trials" / key[0] / str(key[1])
            target.mkdir(parents=True)
            for name, text in files.items():
                (target / name).write_text(text)
            seals = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
            (target / "seal.json").write_text(json.dumps(seals))


def card(number: int, case: str, attempt: int, wrong: int) -> Scorecard:
    """A scorecard of the size of a real one; three of its figures are as good as never equal."""
    good = number % wrong != 0
    found = Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=3, evidence=f"look_up({number % 90})", version="1"
    )
    own = [
        Score(metric=f"figure_{place}", version="1", value=(number + place) % 5 / 4, explanation="of 4")
        for place in range(17)
    ]
    own += [
        Score(
            metric=f"amount_{place}", version="1", value=number * 0.37 + place, explanation="seen", lower_is_better=True
        )
        for place in range(3)
    ]
    reason = f"expected 2 items, found {number % 70}"
    return Scorecard(
        case_id=case,
        attempt=attempt,
        category=f"category-{number // 10 % 10}",
        tags=("breakfast",),
        outcome="finished",
        success=good,
        verdicts=tuple(
            Verdict(
                check=f"check-{place}",
                verifier="v",
                version="1",
                passed=good or place > 0,
                reason=reason,
                evidence={"n": number},
            )
            for place in range(3)
        ),
        scores=tuple(own),
        diagnoses=() if good else (found,),
        tool_use=tuple(ToolUse(tool=f"tool_{place}", calls=1 + (number + place) % 4) for place in range(4)),
        models=("m-1",),
        digest=hashlib.sha256(str(number).encode()).hexdigest(),
    )


if __name__ == "__main__":
    sys.exit(main())
