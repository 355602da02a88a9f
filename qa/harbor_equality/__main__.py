"""Verdicts of this harness beside those of Harbor, on the same folders: `python -m qa.harbor_equality`.

    --harbor PROGRAM   Harbor's command; it needs Python 3.12, so it is installed in an environment of its own:
                       python3.13 -m venv /tmp/harbor && /tmp/harbor/bin/pip install harbor
                       default: `harbor` on the PATH
    --only NAME        one task folder (repeatable)

Compared are the ten folders of `tests/suite/task_folders/tasks` and the template of a task that the package of Harbor
has, with `oracle` and `nop`: the rewards by name, and whether there are any. Both sides build on the built-in
image `base`, so that no registry is needed. Harbor calls `docker compose`, the plug-in of version 2. Ends with status 1
where a pair differs, and with 2 where one side could not run a folder.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from qa.harbor_equality.folders import copy_tasks, names_of_tasks, with_base_image
from qa.harbor_equality.rewards import Rewards, rewards_here, rewards_of_harbor

AGENTS: Final = ("oracle", "nop")
_LONGEST_S: Final = 3600


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--harbor", default=shutil.which("harbor"), metavar="PROGRAM")
    options.add_argument("--only", action="append", metavar="NAME")
    chosen = options.parse_args()
    if chosen.harbor is None or not Path(chosen.harbor).is_file():
        options.error(f"there is no program {chosen.harbor!r}: name Harbor's with --harbor (see --help)")
    with tempfile.TemporaryDirectory(prefix="harness-harbor-") as folder:
        return _compare(Path(folder), Path(chosen.harbor), chosen.only)


def _compare(folder: Path, harbor: Path, only: list[str] | None) -> int:
    project, theirs = folder / "project", folder / "theirs"
    copy_tasks(project, harbor, only)
    client = connect()
    try:
        base = ImageStore(project, client).build("base", lambda _: None).tag
    finally:
        client.close()
    with_base_image(project / "terminal", theirs, base)
    print(f"{_said(harbor, '--version')}, {_said(Path(sys.executable), '-m', 'harness', '--version')}, image {base}")
    names, differing, failed = names_of_tasks(project), 0, 0
    print(f"{'folder':24} {'agent':7} {'here':32} {'Harbor':32}")
    for agent in AGENTS:
        _run_here(project, agent)
        _run_harbor(harbor, theirs, folder / "jobs", agent)
        for name in names:
            here, there = rewards_here(project, agent, name), rewards_of_harbor(folder / "jobs" / agent, name)
            said = _judged(here, there)
            differing, failed = differing + (said == "DIFFERENT"), failed + (said == "NOT RUN")
            print(f"{name:24} {agent:7} {here!s:32} {there!s:32} {said}")
    pairs = len(names) * len(AGENTS)
    print(f"{pairs - differing - failed} of {pairs} equal, {differing} different, {failed} not run by one side")
    return 1 if differing else 2 if failed else 0


def _judged(here: Rewards, there: Rewards) -> str:
    if here.problem is not None or there.problem is not None:
        return "NOT RUN"
    return "equal" if (here.values, here.passed) == (there.values, there.passed) else "DIFFERENT"


def _run_here(project: Path, agent: str) -> None:
    words = ("run", "terminal", "--agent", agent, "--run-name", agent, "--jobs", "1")
    subprocess.run(
        [sys.executable, "-m", "harness", "--project", str(project), *words],
        cwd=project,
        check=False,
        stdout=subprocess.DEVNULL,
        timeout=_LONGEST_S,
    )


def _run_harbor(harbor: Path, tasks: Path, jobs: Path, agent: str) -> None:
    words = ("run", "-p", str(tasks), "-a", agent, "-o", str(jobs), "--job-name", agent, "-n", "1", "-q", "-y")
    done = subprocess.run([harbor, *words], check=False, capture_output=True, text=True, timeout=_LONGEST_S)
    if done.returncode:
        print(f"harbor ended with status {done.returncode}:\n{(done.stderr or done.stdout)[-2000:]}", file=sys.stderr)


def _said(program: Path, *words: str) -> str:
    done = subprocess.run([program, *words], check=False, capture_output=True, text=True, timeout=120)
    return f"{program.name} {(done.stdout or done.stderr).strip().splitlines()[0]}" if done.stdout else program.name


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"harbor_equality: {error}")
