"""What facts show on published runs: alarms, loops, invented tools, wrong writes, and the step named first."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

from corpus import failed
from layout import Figure, share, table
from sources import SETS, Labelled, labelled

from harness.runs.foreign_runs import import_file
from harness.runs.importing import with_rewards
from harness.runs.store.folder import gc_paused
from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import FACTS, diagnose, suspects
from harness.scoring.findings.loops import loops
from harness.scoring.scorecard import Diagnosis
from harness.scoring.scorer import build_scorer
from harness.values import canonical_json
from qa.size import code_lines

READ = frozenset({"tau2", "react_text", "mirage"})
"""Sources of which runs were read while the rules were written; of the others only counts were seen."""
LEFT_OUT = "toolorchestra"
"""The source on which the ranking of steps without a reference was tried once, after it was written."""
NO_EFFECT = ("transfer_to_human_agents", "calculate", "think")
"""Tools of the benchmarks that change nothing; the importer takes what nobody declares to read for a write."""


def figures(data: Path) -> Iterator[Figure]:
    """The rows of the table of figures to reach."""
    yield from _alarms(data)
    yield _loops(data)
    yield _invented_tools(data)
    yield from _wrong_writes(data)
    yield from _named_first(data)
    yield _speed(data)
    yield _size()


def _facts(run: Labelled) -> tuple[Diagnosis, ...]:
    """Without anything that tells whether the run succeeded."""
    return tuple(one for one in diagnose(run.blind) if one.failure != "other")


def _alarms(data: Path) -> Iterator[Figure]:
    rows = []
    for name in SETS:
        good = [run for run in labelled(data, name) if run.success]
        if not good:
            continue
        found = [_facts(run) for run in good]
        alarms = sum(map(bool, found))
        kinds = Counter(kind for own in found for kind in {one.kind for one in own})
        how = "runs read while written" if name in READ else "counts seen alone"
        rows.append([name, how, len(good), share(alarms, len(good)), _listed(kinds)])
        yield Figure(f"alarms of facts on rewarded runs, {name}", "<= 2 %", share(alarms, len(good)), f"{how}")
    table("Alarms of facts on rewarded runs (their reward hidden)", ["set", "", "runs", "alarms", "kinds"], rows)
    rows = []
    for name in SETS:
        bad = [run for run in labelled(data, name) if run.success is False]
        kinds = Counter(kind for run in bad for kind in {one.kind for one in run.card.diagnoses})
        if bad:
            rows.append([name, len(bad), _listed(kinds)])
    table("Kinds of facts in failed runs", ["set", "runs", "kinds"], rows)


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())


def _loops(data: Path) -> Figure:
    looping = labelled(data, "mirage")
    calm = [run for name in SETS for run in labelled(data, name) if run.success]
    found, false = (sum(bool(loops(run.blind)) for run in runs) for runs in (looping, calm))
    told = f"{share(found, len(looping))}, {share(false, len(calm))}"
    return Figure("loops on the set of repetitive actions: recall, false", ">= .98, <= .02", told, "tuned on it")


def _invented_tools(data: Path) -> Figure:
    hit = missed = false = 0
    for run in labelled(data, "toolbench"):
        named = [one for one in _facts(run) if one.kind == "invented_tool"]
        found = {step for one in named for step in (one.origin_step, *one.dependent_steps)}
        known = {one.name for one in run.evidence.tools}
        steps = run.evidence.trial.trajectory.steps
        real = {step.index for step in steps for call in step.calls if call.name not in known}
        hit, missed, false = hit + len(found & real), missed + len(real - found), false + len(found - real)
    return Figure("invented tools: found, false", "all, 0", f"{share(hit, hit + missed)}, {false}", "nothing to tune")


# The first wrong write of failed runs that have a reference, worked out here anew by equality alone.


def first_wrong_write(run: Labelled) -> int | None:
    """The step of the first successful write that none of the reference's writes left equals; None: there is none."""
    left = Counter((call.tool, canonical_json(call.arguments)) for call in run.evidence.case.reference or ())
    for step, name, arguments in writes(run):
        key = (name, canonical_json(arguments))
        if left[key] <= 0:
            return step
        left[key] -= 1
    return None


def writes(run: Labelled) -> list[tuple[int, str, dict[str, object]]]:
    """The agent's successful writes: step, tool, arguments."""
    tools = {tool.name for tool in run.evidence.tools if tool.effect == "write"} - set(NO_EFFECT)
    found = []
    for step in run.evidence.trial.trajectory.steps:
        refused = {seen.call_id for seen in step.observations if seen.error is not None}
        for call in step.calls if step.source == "agent" else ():
            if call.name in tools and call.id not in refused:
                found.append((step.index, call.name, dict(call.arguments or {})))
    return found


def _with_wrong_write(data: Path, name: str) -> list[tuple[Labelled, int]]:
    bad = (run for run in labelled(data, name) if run.success is False and run.evidence.case.reference is not None)
    return [(run, step) for run in bad if (step := first_wrong_write(run)) is not None]


BENCHMARKS = ("tau2", "taubench", LEFT_OUT)


def _wrong_writes(data: Path) -> Iterator[Figure]:
    right = runs = 0
    for name in BENCHMARKS:
        for run, step in _with_wrong_write(data, name):
            named = suspects(run.card.diagnoses, run.evidence.trial.trajectory, success=False)
            right, runs = right + (bool(named) and named[0].step == step), runs + 1
    yield Figure("first wrong write named first, with the reference", "holds: .97", share(right, runs), "")


def hidden(run: Labelled) -> int | None:
    """The step that is named first with the reference hidden."""
    case = run.evidence.case.model_copy(update={"reference": None})
    evidence = failed(run.blind.model_copy(update={"case": case}))
    named = suspects(diagnose(evidence), evidence.trial.trajectory, success=False)
    return named[0].step if named else None


def _named_first(data: Path) -> Iterator[Figure]:
    ways: dict[str, Callable[[Labelled], int | None]] = {
        "facts": hidden,
        "the first write": lambda run: next((step for step, _, _ in writes(run)), None),
        "the last write": lambda run: next((step for step, _, _ in reversed(writes(run))), None),
    }
    rows: list[list[object]] = []
    for name in BENCHMARKS:
        runs = _with_wrong_write(data, name)
        right = {way: sum(find(run) == step for run, step in runs) for way, find in ways.items()}
        rows.append([name, len(runs), *(share(one, len(runs)) for one in right.values())])
        told = ", ".join(f"{way} {share(one, len(runs))}" for way, one in right.items())
        how = "left out" if name == LEFT_OUT else "tuned on it"
        yield Figure(f"first wrong write, reference hidden, {name}", "above first and last write", told, how)
    table("The first wrong write with the reference hidden", ["set", "runs", *ways], rows)


def _speed(data: Path) -> Figure:
    """Processor time, so that other work on the machine counts little; without the garbage collector, as
    `harness score` does it.
    """
    prepared = []
    for path in sorted(data.glob(SETS["tau2"].path)):
        imported = import_file("tau2", path)
        suite = with_rewards(imported)
        cases = {case.id: case for case in suite.cases}
        found = [Evidence(case=cases[trial.case_id], trial=trial, tools=suite.tools) for trial, _ in imported.trials]
        prepared.append((build_scorer(suite), found))
    with gc_paused():
        begun = process_time()
        for scorer, evidences in prepared:
            for evidence in evidences:
                scorer.score(evidence)
        rate = sum(len(evidences) for _, evidences in prepared) / (process_time() - begun)
    return Figure("runs of tau2's shape scored a second a core", ">= 500 (idle)", f"{rate:.0f}", "")


def _size() -> Figure:
    folder = Path(__file__).parents[2] / "harness" / "scoring"
    paths = (path for name in ("findings", "rules") for path in (folder / name).glob("*.py"))
    lines = sum(code_lines(path.read_text(encoding="utf-8")) for path in paths)
    return Figure("code lines of findings and rules; kinds", "<= 2,600; <= 15", f"{lines:,}; {len(FACTS)}", "")
