"""The web app: the first page of a project of 200 runs and 10,000 trials, a trial of 400 steps, the pages of one run of
10,000 trials, a run that is watched.

Medians of requests to a server of its own process. Of the run of 10,000 trials each page is asked for twice: by the
first reader after the server was started, when the runs were counted and nothing else, and again. For memory a run in
flight is watched while as many trials end as in an hour of one a second. `watched / alone` is what a real run takes
with five readers on its page, beside the same run without, in turn.
"""

import argparse
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from harness.runs.store.folder import RunFolder
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial
from qa.bench.figures import Target, show
from qa.bench.large_runs import make
from qa.bench.made_trials import made
from tests.reports.app.client import Loopback, entered
from tests.reports.html.runs import card, manifest, store

RUNS, TRIALS, STEPS = 200, 50, 400
LARGE = {
    "run": ("/runs/large", 1000),
    "failed trials": ("/runs/large?result=failed", 1000),
    "trial": ("/runs/large/trials/case-00000/7", 1000),
    "comparison": ("/compare?before=large&after=second", 1000),
    "trend": ("/trend", 1000),
    "themes": ("/themes?run=large", 1000),
}
"""Page -> its address, and milliseconds for its first reader; a comparison and a trend read 20,000 trials."""
READERS = 5
ENDED = 3_600
TARGETS = [
    Target(figure="first page of 200 runs, 10,000 trials, ms", bound=300),
    Target(figure="that page again, ms", bound=300),
    Target(figure="a trial of 400 steps, ms", bound=200),
    *(Target(figure=f"{name}, first of 10,000 trials, ms", bound=bound) for name, (_, bound) in LARGE.items()),
    *(Target(figure=f"{name}, again of 10,000 trials, ms", bound=300) for name in LARGE),
    Target(figure="growth of memory, 3,600 trials watched, MB", bound=10),
    Target(figure="watched / alone", bound=1.03),
]
ROOT = Path(__file__).parents[2]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--pages-only", action="store_true", help="Neither memory nor the watched run.")
    chosen = options.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        project = Path(temporary)
        shared = fill(project)
        figures |= pages(project, chosen.rounds)
        figures |= large(project / "large")
        if not chosen.pages_only:
            figures |= memory(project)
            figures |= watched(project, chosen.rounds // 2)
        del shared
    show(figures, TARGETS)


def fill(project: Path) -> Path:
    """Folders of one run are copied under other names: what is read is the same."""
    runs = project / "runs"
    first = store(runs, "run-000", trials=TRIALS).path
    told = (first / "manifest.json").read_text()
    for number in range(1, RUNS):
        copied = runs / f"run-{number:03}"
        shutil.copytree(first, copied)
        (copied / "manifest.json").write_text(told.replace('"run-000"', f'"run-{number:03}"'))
    long_trial(runs)
    return first


def long_trial(runs: Path) -> None:
    """One trial of 400 steps, with answers as long as real ones are."""
    parts = [step for _, evidence in made(-(-STEPS // 24)) for step in evidence.trial.trajectory.steps][:STEPS]
    steps = tuple(step.model_copy(update={"index": place}) for place, step in enumerate(parts))
    trajectory = Trajectory(trace_id="long", agent="made", steps=steps)
    own = Trial(case_id="long", attempt=1, outcome="finished", trajectory=trajectory)
    with RunFolder.create(runs, manifest([("long", 1)], "long")) as folder:
        folder.commit(own, (), card("long", 1, success=False, said="an egg"))


def pages(project: Path, rounds: int) -> dict[str, float]:
    """The first page of a server that has read nothing yet, then what is asked for again and again."""
    first = []
    for _ in range(max(1, rounds // 3)):
        with ViewServer(project, app_pages()) as server, entered_beside(server) as client:
            first.append(_ms(lambda: client.get("/", headers={"Accept": "text/html"})))
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        time.sleep(3)  # the index has counted all runs
        again = [_ms(lambda: client.get("/")) for _ in range(rounds)]
        trial = [_ms(lambda: client.get("/runs/long/trials/long/1")) for _ in range(rounds)]
        run = [_ms(lambda: client.get("/runs/run-000")) for _ in range(rounds)]
    return {
        "first page of 200 runs, 10,000 trials, ms": statistics.median(first),
        "that page again, ms": statistics.median(again),
        "a trial of 400 steps, ms": statistics.median(trial),
        "a run of 50 trials, ms": statistics.median(run),
    }


def large(project: Path) -> dict[str, float]:
    """The pages of one run of 10,000 trials, and of two compared."""
    make(project / "runs", "large", 1_000)
    make(project / "runs", "second", 1_000, wrong=7)
    figures: dict[str, float] = {}
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        time.sleep(5)  # the index has counted both runs
        for name, (path, _) in LARGE.items():
            figures[f"{name}, first of 10,000 trials, ms"] = _ms(lambda path=path: client.get(path))
            figures[f"{name}, again of 10,000 trials, ms"] = _ms(lambda path=path: client.get(path))
    return figures


@contextmanager
def entered_beside(server: ViewServer) -> Iterator[httpx.Client]:
    """A client whose way in leads to no page, so that the first page is still to be read."""
    with httpx.Client(base_url=server.address, transport=Loopback(), timeout=60) as client:
        assert 303 == client.get(server.another_link()).status_code
        yield client


def memory(project: Path) -> dict[str, float]:
    """Growth of a process that shows a run in flight, between the first tenth of its trials and the last."""
    ready, told = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(str(project), told))
    process.start()
    try:
        link, address, pid = ready.recv()
        keys = [(f"case-{number:05}", 1) for number in range(ENDED + 1)]
        with (
            RunFolder.create(project / "runs", manifest(keys, "now")) as folder,
            httpx.Client(transport=Loopback()) as client,
        ):
            assert 303 == client.get(link).status_code
            seen = _watch(client, f"{address}/live/now", folder, lambda: _rss_mb(pid))
    finally:
        process.terminate()
        process.join()
        shutil.rmtree(project / "runs" / "now")
    tenth = len(seen) // 10
    growth = statistics.median(seen[-tenth:]) - statistics.median(seen[tenth : 2 * tenth])
    return {"growth of memory, 3,600 trials watched, MB": growth}


def _watch(client: httpx.Client, url: str, folder: RunFolder, measure: Callable[[], float]) -> list[float]:
    """One trial ends after another, as fast as they can be stored; the reader gets what the server sends meanwhile."""
    seen: list[float] = []
    over = threading.Event()

    def read() -> None:
        try:
            with client.stream("GET", url, timeout=60) as events:
                for _ in events.iter_lines():
                    if over.is_set():
                        return
        except httpx.HTTPError:
            pass  # the server has ended

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    from tests.reports.html.runs import trial

    for place, (case, attempt) in enumerate((one.case_id, one.attempt) for one in folder.manifest.planned[:ENDED]):
        folder.commit(trial(case, attempt, "an egg", {}), (), card(case, attempt, success=True, said="an egg"))
        if place % 10 == 0:
            seen.append(measure())
    over.set()
    return seen


def _serve(project: str, told: "multiprocessing.connection.Connection") -> None:
    with ViewServer(Path(project), app_pages()) as server:
        told.send((server.another_link(), server.address, os.getpid()))
        threading.Event().wait()


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def watched(project: Path, rounds: int) -> dict[str, float]:
    """Real runs of the drive-thru's suite, with readers of their page and without, in turn."""
    own = project / "real"
    for name in ("suites", "cassettes", "images", "snapshots"):
        shutil.copytree(ROOT / name / "drive_thru", own / name / "drive_thru")
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * max(1, rounds) + 1):
        with_readers = bool(number % 2)
        took = _run(own, f"r{number}", with_readers=with_readers)
        if number:  # the first one fills the caches
            seconds[with_readers].append(took)
    alone, beside = (statistics.median(seconds[key]) for key in (False, True))
    return {"alone, s": alone, "watched, s": beside, "watched / alone": beside / alone}


def _run(project: Path, name: str, *, with_readers: bool) -> float:
    line = ["run", "drive_thru", "--sandbox", "local", "--jobs", "1", "--trials", "2", "--run-name", name]
    command = [sys.executable, "-m", "harness", "--project", str(project), *line]
    with ExitStack() as stack:
        if with_readers:
            server = stack.enter_context(ViewServer(project, app_pages()))
            for _ in range(READERS):
                client = stack.enter_context(entered_beside(server))
                threading.Thread(target=_read, args=(client, name, project), daemon=True).start()
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return time.perf_counter() - began


def _read(client: httpx.Client, name: str, project: Path) -> None:
    while not (project / "runs" / name / "manifest.json").exists():
        time.sleep(0.1)
    try:
        with client.stream("GET", f"/live/{name}", timeout=60) as events:
            for _ in events.iter_lines():
                pass
    except httpx.HTTPError:
        pass  # the server has ended with the run


def _ms(ask: Callable[[], httpx.Response]) -> float:
    began = time.perf_counter()
    assert 200 == ask().status_code
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
