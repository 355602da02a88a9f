"""How many files of `harness/` a replayed tool call and a scorecard pass through: `python -m qa.path_lengths`.

    files    in which a function is called
    moves    how often a function is called in another file than the function called before it

The call is made by HTTP on a connection that has made others, so that nothing is built for it. The scorecard is of a
trial with three calls, with every metric and finding. Exit status 1: a figure is above what is wanted. `--list` also
prints the files, and the functions that most moves lead to.
"""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from harness.scoring.scorer import build_scorer
from qa.bench.made_trials import made

HERE = Path(__file__).resolve().parent
HARNESS = f"{HERE.parent / 'harness'}/"
sys.path.insert(0, str(HERE / "bench"))
WANTED = {"call": (15, 40), "scorecard": (40, 200)}
STEPS = 6


class Called:
    """Counts the calls of functions of `harness/` while `on`. Give it to `sys.setprofile`."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self.moves: Counter[str] = Counter()
        """File and function -> how often it was moved to."""
        self._last = ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if not self.on or event != "call" or not file.startswith(HARNESS):
            return
        if self._last not in ("", file):
            self.moves[f"{file.removeprefix(HARNESS)} {frame.f_code.co_qualname}"] += 1
        self._last = file
        self.files.add(file.removeprefix(HARNESS))


def a_call() -> Called:
    from gateway import Bench, Caller, record
    from world import served

    called = Called()
    with ExitStack() as stack:
        project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-paths-")))
        bench = Bench(project=project, suite=stack.enter_context(served(project)), calls=0)
        record(bench)
        threading.setprofile(called)  # the gateway's thread begins after this
        gateway = stack.enter_context(bench.gateway("replay", "replay"))
        session = stack.enter_context(bench.session(gateway, "paths"))
        caller = Caller(session.socket)
        for number in range(5):
            caller.find(number)
        called.on = True
        caller.find(6)
        called.on = False
        threading.setprofile(None)
        caller.close()
        session.end()
    return called


def a_scorecard() -> Called:
    from scoring import suite_of

    evidences = [evidence for _, evidence in made(5)]
    scorer = build_scorer(suite_of("made", evidences))
    for evidence in evidences:
        scorer.score(evidence)
    whole = evidences[0].trial
    trajectory = whole.trajectory.model_copy(update={"steps": whole.trajectory.steps[:STEPS]})
    short = evidences[0].model_copy(update={"trial": whole.model_copy(update={"trajectory": trajectory})})
    called = Called()
    called.on = True
    sys.setprofile(called)
    scorer.score(short)
    sys.setprofile(None)
    return called


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--list", action="store_true")
    chosen = options.parse_args()
    over = False
    for name, called in (("call", a_call()), ("scorecard", a_scorecard())):
        (files, moves), found = WANTED[name], called.moves.total()
        over = over or len(called.files) > files or found > moves
        print(f"{name:10} {len(called.files):3} files (wanted {files}), {found:4} moves (wanted {moves})")
        if chosen.list:
            print(*(f"  {file}" for file in sorted(called.files)), sep="\n")
            print(*(f"  {count:4} {function}" for function, count in called.moves.most_common(30)), sep="\n")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
