"""Imported trials: what `fork` and `blame` say of them.

    python -m qa.counterfactual_eval.imported

Reads the folder `tau2` of the data that HARNESS_REAL_DATA names. Of each file one failed trial is given to `fork`
and `blame`: each has to refuse it before anything starts, with the reason and what would make it possible.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from harness.runs.store.folder import RunFolder
from tests.real_data import FOLDER

USAGE = 2


def harness(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "harness", "--project", str(project), *words)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refused(project: Path, run: str, case: str) -> list[str]:
    """What both verbs say of a trial; ends the evaluation if one of them does not refuse it."""
    found = []
    for words in (("fork", run, case, "--at", "1"), ("blame", run, case)):
        done = harness(project, *words)
        if done.returncode != USAGE:
            raise SystemExit(f"harness {' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        found.append(" ".join(done.stderr.split()).replace(f"{run}/{case}/1", "TRIAL"))
    return found


def main() -> None:
    files = sorted((FOLDER / "tau2").glob("*.json"))
    if not files:
        raise SystemExit(f"no files in {FOLDER / 'tau2'}: HARNESS_REAL_DATA names the folder of the data")
    said = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for number, path in enumerate(files):
            run = f"imported-{number}"
            done = harness(project, "import", "tau2", str(path), "--run-name", run)
            if not (project / "runs" / run).is_dir():
                raise SystemExit(f"{path.name}: {done.stderr}")
            cards = RunFolder.open(project / "runs" / run).scorecards()
            failed = next((card for card in cards if card.success is False), cards[0])
            said.update(refused(project, run, failed.case_id))
            print(f"{path.name:46}{len(cards):5} trials", flush=True)
    for words, count in said.most_common():
        print(f"  said {count} times: {words}")


if __name__ == "__main__":
    main()
