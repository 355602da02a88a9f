"""How fast trajectories become transcripts and views, and how much shorter they are. Prints the rate a core.

The trajectories are the real tau2 runs in the data folder (HARNESS_REAL_DATA), or made ones where it is absent. Timed
is processor time, so that other work on the machine does not count.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scoring import evidences

from harness.judging.transcripts import build_transcript
from harness.judging.views import VIEWS, view

WANTED_PER_S = 300


def main() -> int:
    """Exit status 1 where the target is missed."""
    found = [evidence for _, evidence in evidences()]
    began = time.process_time()
    transcripts = [build_transcript(one.trial, one.case) for one in found]
    built = time.process_time() - began
    rate = len(found) / built
    raw = sum(one.raw_chars for one in transcripts)
    print(f"transcripts {rate:6.0f} trajectories/s a core (wanted {WANTED_PER_S}), {len(found)} of them")
    print(f"  trajectories as JSON       {raw:12,} characters")
    print(f"  transcripts                {sum(one.chars for one in transcripts):12,}  -{saving(raw, transcripts):.0%}")
    for name in VIEWS:
        length = sum(len(piece.text) for one in transcripts for piece in view(one, [name]))
        print(f"  view {name:21} {length:12,}  -{1 - length / raw:.0%}")
    return int(rate < WANTED_PER_S)


def saving(raw: int, transcripts: list) -> float:
    return 1 - sum(one.chars for one in transcripts) / raw


if __name__ == "__main__":
    sys.exit(main())
