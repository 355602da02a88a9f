"""What a trial costs in a run of 100, of 1,000 and of 10,000: run, resume, score, report, compare.

Printed for each: milliseconds a trial, by the clock and of the process's own processor time, and the ratio of the
largest run to the smallest ones, several of which are made right before and after it: a busy machine weighs on both
alike. The sandbox is played in this process (`inprocess`), so that nothing but the harness
is measured: loop, gateway, scorer, store.
"""

import argparse
import gc
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import TypeVar

from harness.gateway.gateway import Gateway
from harness.reports.compare import compare_runs
from harness.reports.pages.files import write_html
from harness.reports.render.markdown import write_report
from harness.reports.summarising import summarise_run
from harness.runs.execution.executor import Attempt
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.runs.rescore import rescore
from harness.runs.store.folder import RunFolder
from harness.runs.trial.agents import open_agent
from harness.runs.trial.parallel import TaskSlots, run_all
from harness.runs.trial.trial import TrialRunner
from harness.sandbox.snapshots import SnapshotStore
from harness.scoring.scorer import build_scorer
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from qa.bench.figures import Target
from qa.bench.figures import show as show_figures
from qa.bench.inprocess import InProcessProvider
from qa.bench.overhead import AGENT, SUITE, Echo

T = TypeVar("T")

ATTEMPTS = 10
WITHIN = 1.2
VERBS = ("run", "resume", "score", "report", "report --html", "compare")
READING = {"report", "report --html", "compare"}
REPEATS = 3
"""Of a verb that only reads: it is over in 50 ms for 100 trials, too little for one reading of the clock."""
CASE = """\
- id: case-{number}
  task: Say two numbers.
  category: category-{category}
  reference: [{{id: "1", tool: echo, arguments: {{number: 1}}}}, {{id: "2", tool: echo, arguments: {{number: 2}}}}]
"""


@dataclass
class Spent:
    """Seconds of one verb in one run, by the clock and of this process."""

    wall: float = 0.0
    own: float = 0.0


@dataclass
class Costs:
    """What each verb took for a run of `trials`."""

    trials: int
    spent: dict[str, Spent] = field(default_factory=dict)

    @contextmanager
    def of(self, verb: str, times: int) -> Iterator[None]:
        """Counts the mean of what is done `times` times within."""
        wall, own = time.perf_counter(), time.process_time()
        yield
        self.spent[verb] = Spent((time.perf_counter() - wall) / times, (time.process_time() - own) / times)

    def ms(self, verb: str, clock: Callable[[Spent], float]) -> float:
        """Milliseconds a trial."""
        return clock(self.spent[verb]) / self.trials * 1000


class Sized:
    """A project with one run of so many trials, taken through the verbs one by one."""

    def __init__(self, project: Path, trials: int) -> None:
        self.costs = Costs(trials)
        self._project = project
        self._suite = prepared(project, trials // ATTEMPTS)
        self._plan = RunPlan(
            project=project,
            suite=self._suite,
            planned=planned_trials(self._suite, Selection(), ATTEMPTS),
            name="one",
            sandbox="local",
        )
        self._verbs: dict[str, Callable[[Path], object]] = {
            "run": lambda _: run_in_process(self._plan),
            "resume": lambda run: run_plan(replace(self._plan, resumes=run), Watch()),
            "score": self._score,
            "report": lambda run: write_report(RunFolder.open(run), summarise_run(RunFolder.open(run))),
            "report --html": lambda run: write_html(project, RunFolder.open(run), project / "report.html"),
            "compare": lambda run: compare_runs(RunFolder.open(run.parent / "two"), RunFolder.open(run)),
        }

    def do(self, verb: str) -> None:
        """Carries a verb out and keeps what it took."""
        run = self._project / "runs" / "one"
        if verb == "score":
            shutil.copytree(run, run.parent / "two")
        times = REPEATS if verb in READING else 1
        gc.collect()
        with self.costs.of(verb, times):
            for _ in range(times):
                self._verbs[verb](run)

    def _score(self, run: Path) -> None:
        with RunFolder.resume(run) as again:
            rescore(again, self._suite)


def main() -> int:
    """Exit status 1 where the cost a trial grows."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    options.add_argument("--beside", type=int, default=6, help="Smallest runs that each larger one is held against.")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    smallest, *larger = chosen.sizes
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        interleaved(Path(temporary) / "first", smallest, [], 2)  # imports and caches are paid for here
        beside, found = interleaved(Path(temporary) / "measured", smallest, larger, chosen.beside)
    grown = ratios(beside, found[-1])
    if chosen.json:
        print(json.dumps(grown))
    else:
        show([middle(beside), *found], grown)
    return int(max(grown.values()) > WITHIN)


def interleaved(folder: Path, smallest: int, larger: Sequence[int], beside: int) -> tuple[list[Costs], list[Costs]]:
    """Every verb on runs of all sizes: on half of the smallest, on the larger ones, on the other half.

    What else the machine does then weighs on the small runs before and after a large one as it weighs on that. Gives
    the costs of the smallest runs, and of the larger ones.
    """
    small = [Sized(folder / f"small-{number}", smallest) for number in range(beside)]
    large = [Sized(folder / str(size), size) for size in larger]
    for verb in VERBS:
        for sized in in_turn(small, large):
            sized.do(verb)
    shutil.rmtree(folder)
    return [sized.costs for sized in small], [sized.costs for sized in large]


def in_turn(small: Sequence[T], large: Sequence[T]) -> tuple[T, ...]:
    """One half of the small ones, the large ones, the other half."""
    half = len(small) // 2
    return (*small[:half], *large, *small[half:])


def prepared(project: Path, cases: int) -> Suite:
    """A suite of so many cases, each with a cassette: what one of them recorded."""
    with ExitStack() as stack:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        folder = project / "suites" / "bench"
        folder.mkdir(parents=True)
        texts = [CASE.format(number=number, category=number % 10) for number in range(cases)]
        (folder / "cases.yaml").write_text("".join(texts), encoding="utf-8")
        url = f"http://127.0.0.1:{server.server_port}"
        (folder / "suite.yaml").write_text(SUITE.format(agent=AGENT, url=url), encoding="utf-8")
        suite = load_suite(project, "bench")
        first = planned_trials(suite, Selection(cases=["case-0"]), 1)
        run_plan(
            RunPlan(project=project, suite=suite, planned=first, tools="record", name="record", sandbox="local"),
            Watch(),
        )
    cassettes = project / "cassettes" / "bench"
    for number in range(1, cases):
        shutil.copyfile(cassettes / "case-0.yaml", cassettes / f"case-{number}.yaml")
    return suite


def run_in_process(plan: RunPlan) -> None:
    """What `harness run` does for its trials, in sandboxes of this process."""
    scorer = build_scorer(plan.suite)
    agent = open_agent(plan.suite, "noop", plan.project / ".harness" / "agents")
    recorded = RunFolder.open(plan.runs / "record").manifest
    snapshot = SnapshotStore(plan.project, None).load(None, None)
    changed = {"run": plan.name, "tool_mode": "replay", "planned": plan.planned}
    with ExitStack() as stack:
        folder = stack.enter_context(RunFolder.create(plan.runs, recorded.model_copy(update=changed)))
        gateway = stack.enter_context(Gateway(plan.suite, "replay", cassettes=plan.project / "cassettes", secrets={}))
        runner = TrialRunner(
            suite=plan.suite, snapshot=snapshot, provider=InProcessProvider(), gateway=gateway, agent=agent, run="one"
        )  # fmt: skip
        attempt = Attempt(runner=runner, folder=folder, scorer=scorer, stopping=threading.Event())
        for _, done in run_all(plan.planned, attempt, TaskSlots(jobs=2), lambda: None):
            assert done is not None
            assert (done[0].outcome, done[0].tiers) == ("finished", {"exact": 2}), done[0]


def ratios(beside: Sequence[Costs], largest: Costs) -> dict[str, float]:
    """Processor time a trial, of the largest run to the median of the smallest ones beside it."""
    return {verb: largest.ms(verb, own) / median(one.ms(verb, own) for one in beside) for verb in largest.spent}


def middle(beside: Sequence[Costs]) -> Costs:
    """The smallest runs as one: the median of each verb."""
    spent = {
        verb: Spent(*(median(clock(one.spent[verb]) for one in beside) for clock in (wall, own)))
        for verb in beside[0].spent
    }
    return Costs(beside[0].trials, spent)


def own(spent: Spent) -> float:
    return spent.own


def wall(spent: Spent) -> float:
    return spent.wall


def show(found: list[Costs], grown: dict[str, float]) -> None:
    print("processor ms a trial (ms by the clock) in runs of " + ", ".join(f"{costs.trials:,}" for costs in found))
    for verb in grown:
        cells = [f"{costs.ms(verb, own):8.2f} ({costs.ms(verb, wall):8.2f})" for costs in found]
        print(f"  {verb:14} {'  '.join(cells)}")
    times = found[-1].trials // found[0].trials
    figures = {f"{verb}: a trial in a run {times} times as long": ratio for verb, ratio in grown.items()}
    show_figures(figures, [Target(figure=figure, bound=WITHIN) for figure in figures])


if __name__ == "__main__":
    sys.exit(main())
