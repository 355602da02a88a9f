"""Whole trials a second of the sandbox `docker`, several jobs at a time, beside as many plain cycles of the Docker API.

`plain` and `trial` are those of `overhead`: create, start, wait and remove with our sandbox's options and the agent's
program; and a whole replayed trial of that agent. Blocks of both are run in turn; the figures are medians of blocks.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count

from qa.bench.figures import Target, show
from qa.bench.overhead import prepare

LEAST = {2: 0.9, 4: 0.8}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--block", type=int, default=16, help="trials in a block")
    chosen = options.parse_args()
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        prepared = prepare(stack)
        subjects = {name: prepared[name] for name in ("plain", "trial")}
        numbers = count(1)
        for jobs in LEAST:
            rates = measured(subjects, numbers, jobs, chosen.rounds, chosen.block)
            for name, found in rates.items():
                figures[f"{name}, {jobs} jobs, a second"] = statistics.median(found)
            paired = [trial / plain for trial, plain in zip(rates["trial"], rates["plain"], strict=True)]
            figures[named(jobs)] = statistics.median(paired)
    show(figures, [Target(figure=named(jobs), bound=least, least=True) for jobs, least in LEAST.items()])


def named(jobs: int) -> str:
    return f"trial / plain, {jobs} jobs"


def measured(
    subjects: dict[str, Callable[[int], float | None]], numbers: count, jobs: int, rounds: int, block: int
) -> dict[str, list[float]]:  # fmt: skip
    """Runs a second of each subject in each round; the first round is not kept, and the order turns."""
    rates: dict[str, list[float]] = {name: [] for name in subjects}
    with ThreadPoolExecutor(jobs) as executor:
        for number in range(rounds + 1):
            for name in list(subjects)[:: -1 if number % 2 else 1]:
                began = time.perf_counter()
                list(executor.map(subjects[name], [next(numbers) for _ in range(block)]))
                if number:
                    rates[name].append(block / (time.perf_counter() - began))
    return rates


if __name__ == "__main__":
    main()
