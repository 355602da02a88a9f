"""The first wrong write of failed runs that have a reference, beside the step that `harness explain` names first.

The step is worked out here anew, by equality of names and arguments alone: the first successful write of the agent that
none of the reference's writes left equals; where every write made is one of the reference's, the run has no such step
(a write is missing, or the words are wrong). The detectors compare in substance (encodings, order, what a tool
ignores).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from corpus import failed
from counting import wilson
from layout import share, table
from sources import Labelled

from harness.score.failures import Suspect, findings, suspects
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


def without_reference(runs: Runs) -> None:
    """The same runs with their reference hidden, and every failed one: what is named where no reference helps.

    A run in which no write is wrong (one is missing, a word is) counts as wrongly named wherever a step is named.
    """
    rows = []
    for name, some in runs.items():
        bad = [one for one in some if one.success is False and one.evidence.case.reference is not None]
        if not bad:
            continue
        ranked = [(first_wrong_write(run), _hidden(run)) for run in bad]
        named = [(step, found) for step, found in ranked if found]
        right = sum(step == found[0].step for step, found in named)
        first = [(step, found) for step, found in named if found[0].kind == "first_change"]
        own = share(sum(step == found[0].step for step, found in first), len(first))
        low, high = wilson(right, len(named))
        rows.append(
            [name, len(bad), len(named), share(right, len(named)), f"{100 * low:.0f} to {100 * high:.0f} %", own]
        )
    head = ["set", "failed runs", "a step named", "it is the first wrong write", "95 %", "named as first change"]
    table("Failed runs with their reference hidden", head, rows)


def _hidden(run: Labelled) -> tuple[Suspect, ...]:
    case = run.evidence.case.model_copy(update={"reference": None})
    evidence = failed(run.blind.model_copy(update={"case": case}))
    facts, hints = findings(evidence)
    return suspects((*facts, *hints), evidence.trial.trajectory, success=False)


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
