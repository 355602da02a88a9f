"""Prints what findings show on published runs, beside the figures to reach; exits 2 if the data is absent.

    python qa/findings_eval/run.py [--only NAME ...]

HARNESS_REAL_DATA names the folder of runs (default: ../shared/data beside the repository).
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # the table of perturbations is the tests' own

import facts
import rules
from corpus import data_folder
from layout import Figure, table
from needed import needed_calls
from perturbed import perturbations

FIGURES: dict[str, Callable[[Path], Iterator[Figure]]] = {"facts": facts.figures, "rules": rules.figures}
"""What adds rows to the table of figures to reach."""
TABLES: dict[str, Callable[[Path], None]] = {"perturbations": perturbations, "needed-calls": needed_calls}


def main() -> int:
    """0: all tables were printed; 2: there is no data."""
    parser = argparse.ArgumentParser(description="Evaluates findings on published runs.")
    known = [*FIGURES, *TABLES]
    parser.add_argument("--only", nargs="*", choices=known, default=known)
    chosen = parser.parse_args().only
    data = data_folder()
    if not (data / "tau2").is_dir():
        print(f"no real runs in {data}\n  -> set HARNESS_REAL_DATA to the folder that holds them", file=sys.stderr)
        return 2
    for name, show in TABLES.items():
        if name in chosen:
            show(data)
    rows = [row for name, find in FIGURES.items() if name in chosen for row in find(data)]
    if rows:
        table("Figures to reach", ["figure", "goal", "measured", ""], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
