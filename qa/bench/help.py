"""How long `harness --help` takes beside `python -c pass`, in turn, medians and the ratio."""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from qa.bench.figures import Target, show

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import click": [sys.executable, "-c", "import click"],
    "harness --help": [str(Path(sys.executable).with_name("harness")), "--help"],
}
TARGETS = [Target(figure="harness --help / python -c pass", bound=6)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=40)
    rounds = options.parse_args().rounds
    seconds = timed(COMMANDS, rounds)
    medians = {name: statistics.median(own) for name, own in seconds.items()}
    figures = {f"{name}, ms": median * 1000 for name, median in medians.items()}
    for name in ("import click", "harness --help"):
        figures[f"{name} / python -c pass"] = medians[name] / medians["python -c pass"]
    show(figures, TARGETS)


def timed(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each command in each round; the first round, which fills the caches, is not kept."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            if number:
                seconds[name].append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    main()
