"""Tries readers in a process of its own, whose memory is bounded: one row a line, as JSON.

python -m qa.fuzz --tries 20000 --seed 1 [--only PART] ...
"""

import argparse
import dataclasses
import importlib
import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from qa.fuzz.reader import bound_memory
from qa.fuzz.running import row

PARTS = ("projects", "stores", "foreign", "wires", "live")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tries", type=int, required=True, help="of the quickest readers; the slower ones get fewer")
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--only", choices=PARTS, action="append")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")  # expressions and labels that nobody would write
    bound_memory()
    for part in chosen.only or PARTS:
        for reader in importlib.import_module(f"qa.fuzz.{part}").readers():
            with TemporaryDirectory(prefix="fuzz-") as folder:
                found = row(reader, Path(folder), max(5, chosen.tries // reader.cost), chosen.seed)
            print(json.dumps(dataclasses.asdict(found)), flush=True)


if __name__ == "__main__":
    main()
