"""Our prediction "all needed calls were made" beside the reward, which no predictor sees.

Predicted from the trajectory, the declared tools and the task's own gold calls and gold words. Nothing was tuned: the
metric is a rule, so that both splits are shown to be alike, not to be chosen by.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from corpus import Run
from layout import share, table
from tau import tau2, taubench

from harness.score.arguments import call_key
from harness.score.failures.reading import read
from harness.score.jsonvalue import equality_key
from harness.score.metrics import METRICS
from harness.values import JsonValue

Prediction = Callable[[Run], bool]


def needed_calls(data: Path) -> None:
    """Agreement by rule and split, and why the rest differs."""
    sets = {
        "tau2 airline, retail": [run for run in tau2(data) if run.domain != "telecom"],
        "tau-bench airline": list(taubench(data)),
    }
    rules: dict[str, Prediction] = {
        "every gold call among the calls": _every_gold_call,
        "effect_match": _effects,
        "effect_match, and what had to be said": lambda run: _effects(run) and _said(run),
    }
    rows, rest = [], []
    for name, runs in sets.items():
        gold = [run for run in runs if run.evidence.case.reference]
        for rule, predict in rules.items():
            row: list[object] = [name, rule]
            for split in ("development", "held-out", "all"):
                part = [run for run in gold if split in ("all", run.split)]
                row.append(share(sum(predict(run) == run.success for run in part), len(part)))
            rows.append(row)
        rest += [(name, _reason(run)) for run in gold if (_effects(run) and _said(run)) != run.success]
    head = ["runs with gold calls", "prediction", "development", "held-out", "all"]
    table("All needed calls made: prediction against reward (to reach: 80 %)", head, rows)
    counted = Counter(rest)
    rows = [[name, *reason, count] for (name, reason), count in sorted(counted.items())]
    table("The rest, by kind (effect_match, and what had to be said)", ["runs", "reward", "kind", "count"], rows)


def _every_gold_call(run: Run) -> bool:
    tools = {tool.name: tool for tool in run.evidence.tools}
    gold = run.evidence.case.reference or ()
    wanted = Counter(call_key(tools.get(call.tool), call.tool, call.arguments) for call in gold)
    return not wanted - Counter(act.key for act in read(run.evidence).acts)


def _effects(run: Run) -> bool:
    return METRICS["effect_match"]().measure(run.evidence)[0] == 1.0


def _said(run: Run) -> bool:
    """Each of the task's gold words stands in some message of the agent, by the benchmarks' own reading of them."""
    steps = run.evidence.trial.trajectory.steps
    told = "\n".join(step.message.lower().replace(",", "") for step in steps if step.source == "agent" and step.message)
    return all(str(word).lower().replace(",", "") in told for word in run.label["said"])


def _reason(run: Run) -> tuple[str, str]:
    if not run.success:
        return "0", "the calls and words are there: another part of the reward failed"
    if not _said(run):
        return "1", "what had to be said stands there in other words"
    tools = {tool.name: tool for tool in run.evidence.tools}
    gold = [call for call in run.evidence.case.reference or () if tools[call.tool].effect == "write"]
    made = [act.call for act in read(run.evidence).acts if act.writes and not act.failed]
    wanted = Counter((call.tool, _bagged(call.arguments)) for call in gold)
    done = Counter((call.name, _bagged(call.arguments)) for call in made)
    return "1", _difference(wanted, done)


def _difference(wanted: Counter[tuple[str, str]], done: Counter[tuple[str, str]]) -> str:
    missing, extra = wanted - done, done - wanted
    if not missing and not extra:
        return "the order in a list, which the tool's schema does not call unordered"
    if not extra:
        return "a gold write was not needed (the environment refuses it, or another write does the same)"
    if not missing:
        return "a further write changed nothing that counts"
    return "a write with other arguments came to the same"


def _bagged(value: JsonValue) -> str:
    """Equal for values that differ in the order of lists alone."""
    return equality_key(_sorted(value))


def _sorted(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: _sorted(item) for key, item in value.items()}
        case list():
            return sorted(map(_sorted, value), key=equality_key)
        case _:
            return value
