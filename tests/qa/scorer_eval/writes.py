"""The first wrong write of failed runs that have a reference, beside the step that `harness explain` names first.

The step is worked out here anew, by equality of names and arguments alone: the first successful write of the agent that
none of the reference's writes left equals; where every write made is one of the reference's, the run has no such step
(a write is missing, or the words are wrong). The detectors compare in substance (encodings, order, what a tool
ignores).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from counting import wilson
from layout import share, table
from sources import Labelled

from harness.score.failures import suspects
from harness.score.failures.ranking.fitted import Fitted
from harness.values import canonical_json

Runs = Mapping[str, Sequence[Labelled]]
NO_EFFECT = ("transfer_to_human_agents", "calculate", "think")
"""Tools of the benchmarks that change nothing; the importer takes what nobody declares to read for a write."""


def wrong_writes(runs: Runs, without: Mapping[str, Fitted]) -> None:
    """By set and domain: how often the first answer is that step, and how often a constant is."""
    groups: dict[str, list[tuple[Labelled, int]]] = {}
    for name, some in runs.items():
        for run in some:
            step = first_wrong_write(run) if run.success is False else None
            if step is not None:
                domain = next((one for one in ("retail", "airline", "telecom") if one in run.id), "")
                groups.setdefault(f"{name} {domain}".strip(), []).append((run, step))
    rows = []
    for name, own in groups.items():
        exact = near = among = silent = 0
        for run, step in own:
            numbers = without[run.source]
            found = suspects(run.everything, run.evidence.trial.trajectory, success=run.success, numbers=numbers)
            silent += not found
            exact += bool(found) and found[0].step == step
            near += bool(found) and abs(found[0].step - step) <= 1
            among += any(one.step == step for one in found[:3])
        constant, right = Counter(step for _, step in own).most_common(1)[0]
        low, high = wilson(exact, len(own))
        told = [share(exact, len(own)), f"{100 * low:.0f} to {100 * high:.0f} %", share(near, len(own))]
        rows.append([name, len(own), *told, share(among, len(own)), silent, share(right, len(own)), constant])
    head = ["set", "runs", "exact", "95 %", "within 1", "among the first 3", "cannot tell", "best constant", "step"]
    table("The first wrong write of failed runs with a reference (without the set)", head, rows)


def first_wrong_write(run: Labelled) -> int | None:
    """Index of its step; None: there is no reference, or each write made is one of its writes."""
    case = run.evidence.case
    if case.reference is None:
        return None
    writes = {tool.name for tool in run.evidence.tools if tool.effect == "write"} - set(NO_EFFECT)
    left = Counter((call.tool, canonical_json(call.arguments)) for call in case.reference)
    for step in run.evidence.trial.trajectory.steps:
        if step.source != "agent":
            continue
        failed = {seen.call_id for seen in step.observations if seen.error is not None}
        for call in step.calls:
            if call.name not in writes or call.id in failed:
                continue
            key = (call.name, canonical_json(call.arguments or {}))
            if left[key] <= 0:
                return step.index
            left[key] -= 1
    return None
