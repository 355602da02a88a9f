"""A harness that is killed at any moment leaves whole trials, and a folder that can be resumed."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest

WRITER = """
import sys
from pathlib import Path
from harness.runs.store.folder import RunFolder
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial
from harness.traces.spans import Span

folder = RunFolder.resume(Path(sys.argv[1]))
spans = [Span(trace_id="t", span_id=str(i), name="tool", start_ns=1, end_ns=2) for i in range(500)]
archive = Path(sys.argv[2])
print("ready", flush=True)
done = folder.finished()
for one in folder.manifest.planned:
    if (one.case_id, one.attempt) not in done:
        trajectory = Trajectory(trace_id="t", agent="a", steps=(), final_output="x" * 100_000)
        trial = Trial(case_id=one.case_id, attempt=one.attempt, outcome="finished", trajectory=trajectory)
        card = Scorecard(case_id=one.case_id, attempt=one.attempt, category="g",
                         outcome="finished", success=True, digest=trajectory.digest)
        folder.commit(trial, spans, card, archive)
"""


@pytest.mark.slow
def test_a_killed_harness_leaves_no_half_written_trial(
    runs: Path, manifest: Callable[..., RunManifest], record: Callable[..., Any]
) -> None:
    planned = tuple(PlannedTrial(case_id="c", attempt=number) for number in range(1, 2001))
    RunFolder.create(runs, manifest(planned=planned)).close()
    (archive := runs.parent / "end.tar").write_bytes(b"z" * 1_000_000)
    draw = random.Random(3)
    seen: list[int] = []
    unfinished = 0

    for kill in range(60):  # on a busy machine most kills come before the writer has begun to write
        if kill >= 8 and unfinished and seen[-1]:
            break
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(runs / "run"), str(archive)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(draw.uniform(0.02, 0.12) * (1 + kill / 4))  # a busy disk takes longer to have written anything
            writer.send_signal(signal.SIGKILL)
        folder = RunFolder.open(runs / "run")
        folder.verify()
        seen.append(len(folder.finished()))
        unfinished += len(list((runs / "run").rglob(".unfinished-*")))

    assert seen == sorted(seen)
    assert 0 < seen[-1] < 2000
    assert unfinished > 0, "no kill hit a write: the test shows nothing"
    with RunFolder.resume(runs / "run") as folder:
        assert list((runs / "run").rglob(".unfinished-*")) == []
        assert len(list(folder.trials())) == seen[-1]
