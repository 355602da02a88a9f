"""What a snapshot costs a trial in a warm sandbox: start to end state with 5,000 snapshot files beside one, in turn,
medians.

Each trial changes one file. What is created once, when the container is started, stands apart.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from harness.sandbox.conformance.provider_fixture import shell, snapshot_entry
from harness.sandbox.containers.warm import WarmDockerSandboxProvider
from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from qa.bench.figures import Target, show

FILES = (1, 5_000)
SPEC = SandboxSpec(trial_id="bench", limits=Limits(disk_mb=128))
RATIO = "5,000 snapshot files / one"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary, closing(connect()) as client:
        folder = Path(temporary)
        image = ImageStore(folder, client).build("base", print).tag
        snapshots = {count: sealed(folder / str(count), image, count) for count in FILES}
        with closing(WarmDockerSandboxProvider(run="bench", client=client)) as provider:
            first = {count: trial_s(provider, snapshot, folder) for count, snapshot in snapshots.items()}
            spent: dict[int, list[float]] = {count: [] for count in FILES}
            for _ in range(rounds):
                for count, snapshot in snapshots.items():
                    spent[count].append(trial_s(provider, snapshot, folder))
    medians = {count: statistics.median(seconds) for count, seconds in spent.items()}
    figures = {f"a trial upon {count:,} snapshot files, ms": median * 1000 for count, median in medians.items()}
    figures |= {f"the first in its container, {count:,} files, ms": first[count] * 1000 for count in FILES}
    show(figures | {RATIO: medians[FILES[1]] / medians[FILES[0]]}, [Target(figure=RATIO, bound=1.5)])


def sealed(folder: Path, image: str, count: int) -> Snapshot:
    files = tuple(snapshot_entry(folder, f"/work/{number % 50}/{number}", b"x" * 200) for number in range(count))
    ordered = tuple(sorted(files, key=lambda file: file.path))
    return Snapshot(name="bench", environment="base", image=image, folder=folder, files=ordered)


def trial_s(provider: WarmDockerSandboxProvider, snapshot: Snapshot, folder: Path) -> float:
    """Seconds from the request to what was left; its end, in which the container becomes empty, is waited for."""
    began = time.perf_counter()
    with closing(provider.start(SPEC, snapshot)) as sandbox:
        shell(sandbox, "echo changed > 0/0")
        changes = sandbox.end_state(folder / "end_state.tar").changes
        spent = time.perf_counter() - began
    assert ["/work/0/0"] == [change.path for change in changes]
    return spent


if __name__ == "__main__":
    main()
