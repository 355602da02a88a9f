"""How long the first run of a new project takes beside `python -c pass`, in turn, medians: the fixed cost of a run."""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from qa.bench.figures import Target, show

HARNESS = str(Path(sys.executable).with_name("harness"))
RUN, PASS = "harness run hello, s", "python -c pass, s"
TARGETS = [Target(figure=RUN, bound=0.5)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    rounds = options.parse_args().rounds
    seconds: dict[str, list[float]] = {PASS: [], RUN: []}
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as project:
        subprocess.run([HARNESS, "init", project], stdout=subprocess.DEVNULL, check=True)
        for number in range(rounds + 1):
            shutil.rmtree(Path(project) / "runs", ignore_errors=True)
            taken = {
                PASS: _seconds([sys.executable, "-c", "pass"]),
                RUN: _seconds([HARNESS, "--project", project, "run", "hello", "--sandbox", "local"]),
            }
            if number:  # the first round fills the caches
                for name, one in taken.items():
                    seconds[name].append(one)
    show({name: statistics.median(own) for name, own in seconds.items()}, TARGETS)


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
