"""`make demo`: builds missing images, runs every version of a suite's agent in replay mode, and compares them.

    python -m qa.demo drive_thru

If no container engine answers, it prints a warning and uses the sandbox `local`, without isolation.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from typing import Literal

from harness.cli.console import out, say
from harness.cli.running import judge, run_ungated
from harness.cli.showing import show_run
from harness.errors import EngineUnavailable, ExitCode, SnapshotError
from harness.reports.compare import compare_runs
from harness.reports.render.terminal import first_comparison
from harness.runs.plan.plan import RunOptions
from harness.runs.store.folder import RunFolder
from harness.sandbox.engine import connect
from harness.sandbox.environment import BASE_IMAGE, load_environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.leftovers import reap
from harness.sandbox.snapshots import SnapshotStore
from harness.suite.loading import load_suite
from harness.suite.suites import Suite


def demonstrate(project: Path, name: str) -> ExitCode:
    """Runs every version of the suite's agent and compares each with the one before it."""
    suite = load_suite(project, name)
    sandbox = _sandbox(project, suite)
    folders: list[RunFolder] = []
    codes = [ExitCode.DONE]
    for version in reversed(list(suite.agents)):  # the default one is named first, and runs last
        options = RunOptions(suite=name, agent=version, sandbox=sandbox)
        folder = run_ungated(project, options)
        codes.append(judge(show_run(folder, as_json=False), quiet=options.as_json))
        folders.append(folder)
    for before, after in pairwise(folders):
        out().print(first_comparison(compare_runs(before, after), before.manifest.run))
    out().print(f"\nreports  {', '.join(str(folder.path / 'report') for folder in folders)}", soft_wrap=True)
    return max(codes)


def _sandbox(project: Path, suite: Suite) -> Literal["docker", "local"]:
    try:
        client = connect()
    except EngineUnavailable as error:
        say(f"{error.message}\nThe suite runs in the sandbox `local` instead: nothing is isolated from this machine.")
        return "local"
    for removed in reap(client):
        say(f"removed resources of a crashed run: {removed}")
    images = ImageStore(project, client)
    image = load_environment(project, suite.environment).image if suite.environment else BASE_IMAGE
    say(f"image {images.build(image, say).tag} is built")
    _build_snapshot(project, suite, images)
    return "docker"


def _build_snapshot(project: Path, suite: Suite, images: ImageStore) -> None:
    if suite.environment is None or suite.snapshot is None:
        return
    store = SnapshotStore(project, images)
    try:
        snapshot = store.verify(suite.environment, suite.snapshot)
        say(f"snapshot {suite.environment}/{suite.snapshot} is verified: {snapshot.digest[:12]}")
    except SnapshotError as error:
        if (project / "snapshots" / suite.environment / suite.snapshot).is_dir():
            raise
        say(error.message)
        store.build(suite.environment, suite.snapshot, say)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    given = parser.parse_args()
    sys.exit(demonstrate(Path(__file__).resolve().parents[1], given.suite))


if __name__ == "__main__":
    main()
