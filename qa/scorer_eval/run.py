"""Prints how the failure detectors do on real runs; exits 2 where the data is absent.

    python qa/scorer_eval/run.py [--only NAME ...]

HARNESS_REAL_DATA names the folder of runs (default: ../shared/data beside the repository).
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # the table of perturbations is the tests' own

import tables
from corpus import data_folder
from counting import fit
from injections.injected import injected
from learnt import learnt
from needed import needed_calls
from perturbed import perturbations
from protocol import protocol
from readings import read_by_hand, recoveries_by_hand

EVALUATIONS: dict[str, Callable[[Path], None]] = {
    "protocol": protocol,
    "learnt": learnt,
    "perturbations": perturbations,
    "by-data-set": tables.by_data_set,
    "confusion": tables.confusion,
    "needed-calls": needed_calls,
    "tool-hallucination": tables.tool_hallucination,
    "loops": tables.loops,
    "injected": injected,
    "recovery": tables.recovery,
    "readings": read_by_hand,
    "recoveries": recoveries_by_hand,
}
WRITING: dict[str, Callable[[Path], None]] = {"fit": fit}
"""What writes into the package, and is done only where it is asked for by name."""


def main() -> int:
    """0: all tables were printed; 2: there is no data."""
    parser = argparse.ArgumentParser(description="Evaluates the failure detectors on real runs.")
    known = {**EVALUATIONS, **WRITING}
    parser.add_argument("--only", nargs="*", choices=known, default=list(EVALUATIONS))
    chosen = parser.parse_args().only
    data = data_folder()
    if not (data / "tau2").is_dir():
        print(f"no real runs in {data}\n  -> set HARNESS_REAL_DATA to the folder that holds them", file=sys.stderr)
        return 2
    print("Development: 80 % of the runs of a data set, by the hash of the run's id; held-out: the rest.")
    for name in chosen:
        known[name](data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
