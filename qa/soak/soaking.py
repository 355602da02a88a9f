"""The soak itself: parts one after the other, a table of their rows, and whether all of them are as they should be."""

import argparse
import json
import random
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field

from qa.soak.parts import Part
from qa.soak.rows import Row, Unable

HEAD = f"{'attack or fault':58} {'tries':>7} {'survived':>8} {'lost':>5} {'left behind':>11}"
_INTERRUPTED = 130


@dataclass
class Found:
    """What is known so far."""

    rows: list[Row] = field(default_factory=list)
    undone: dict[str, str] = field(default_factory=dict)
    """Parts that could not be done to the end, and why."""

    @property
    def bad(self) -> int:
        return sum(not row.good for row in self.rows) + len(self.undone)


def main(parts: Mapping[str, Part], seed: int, arguments: Sequence[str] | None = None) -> int:
    """The exit status: 1 where a row is not as it should be or a part cannot run here, 130 after Ctrl-C."""
    chosen = _options(parts, seed).parse_args(arguments)
    names = list(chosen.only or parts)
    minutes = sum(parts[name].takes_minutes(chosen.scale) for name in names)
    _say(f"seed {chosen.seed}, scale {chosen.scale:g}: about {minutes:.0f} min on two processors")
    if not chosen.json:
        print(HEAD, flush=True)
    found, began, interrupted = Found(), time.monotonic(), False
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for name in names:
            _soak(name, parts[name], chosen, found)
    except KeyboardInterrupt:
        interrupted = True
        found.undone[name] = "interrupted"
        _say("interrupted; what is known so far:")
    finally:
        signal.signal(signal.SIGTERM, before)
    seconds = round(time.monotonic() - began)
    _show(found, seconds, chosen)
    return _INTERRUPTED if interrupted else int(found.bad > 0)


def _options(parts: Mapping[str, Part], seed: int) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m qa.soak", description="Every attack and every fault, long, in one table."
    )
    options.add_argument("--only", choices=list(parts), action="append", help="may be given several times")
    options.add_argument("--seed", type=int, default=seed, help="the same seed tries the same")
    options.add_argument("--scale", type=_scale, default=1.0, help="0.1 tries a tenth")
    options.add_argument("--json", action="store_true", help="print the rows as JSON when all of them are known")
    return options


def _scale(text: str) -> float:
    value = float(text)
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError("a scale is more than 0 and at most 100")
    return value


def _soak(name: str, part: Part, chosen: argparse.Namespace, found: Found) -> None:
    began = time.monotonic()
    _say(f"{name} ... (about {part.takes_minutes(chosen.scale):.1f} min)")
    try:
        with closing(part.rows(random.Random(chosen.seed), chosen.scale)) as rows:  # an interrupted one cleans up
            for row in rows:
                found.rows.append(row)
                if not chosen.json:
                    print(line(row), flush=True)
    except Unable as reason:
        found.undone[name] = f"cannot run here: {reason}"
    except Exception as error:  # noqa: BLE001 # the other parts are to be seen all the same
        traceback.print_exc()
        found.undone[name] = f"failed: {type(error).__name__}: {error}"
    _say(f"{name}: {found.undone.get(name, 'done')}, {time.monotonic() - began:.0f} s")


def _show(found: Found, seconds: int, chosen: argparse.Namespace) -> None:
    if chosen.json:
        rows = [{**asdict(row), "good": row.good} for row in found.rows]
        told = {"seed": chosen.seed, "scale": chosen.scale, "seconds": seconds, "rows": rows, "undone": found.undone}
        print(json.dumps(told, indent=1), flush=True)
        return
    for name, reason in found.undone.items():
        print(f"{name}: NOT DONE, {reason}")
    wrong = sum(not row.good for row in found.rows)
    print(f"\n{wrong} of {len(found.rows)} row(s) are not as they should be, {seconds} s", flush=True)


def line(row: Row) -> str:
    """The row as a line of the table."""
    note = (" VOID: its control did not succeed" if row.void else "") + (f"  {row.said}" if row.said else "")
    bad = "" if row.good or row.void else "  BAD"
    return f"{row.what:58} {row.tries:7,} {row.survived:8,} {row.lost:5,} {row.left:11,}{bad}{note}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
