"""Our prediction "all needed calls were made" beside the reward, which no predictor sees.

Predicted from the runs as `harness import` reads them: the trajectory, how it ended, the declared tools and the case's
own gold calls and gold words. Nothing was tuned: the metric is a rule, so that both splits are shown to be alike, not
to be chosen by. Runs of which `effect_match` says that it cannot tell (the benchmark judges by other things) are
counted apart.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from corpus import split_of
from layout import share, table
from pydantic import JsonValue
from sources import Labelled, labelled

from harness.scoring.arguments import call_key
from harness.scoring.findings.reading import read
from harness.scoring.json_values import equality_key
from harness.scoring.registry import METRICS

Prediction = Callable[[Labelled], bool]
SETS = ("tau2", "taubench", "toolorchestra", "react_text")


def needed_calls(data: Path) -> None:
    """Agreement by rule and split, and why the rest differs."""
    rules: dict[str, Prediction] = {
        "every gold call among the calls": _every_gold_call,
        "effect_match": _effects,
        "effect_match, finished, said": _reaches_the_goal,
    }
    rows, rest = [], []
    for name in SETS:
        every = [run for run in labelled(data, name) if run.evidence.case.reference and run.success is not None]
        gold = [run for run in every if _effect(run) is not None]
        for rule, predict in rules.items():
            row: list[object] = [name, rule, len(every) - len(gold)]
            for split in ("development", "held-out", "all"):
                part = [run for run in gold if split in ("all", split_of(f"{run.source}/{run.id}"))]
                row.append(share(sum(predict(run) == run.success for run in part), len(part)))
            row.append(sum(predict(run) and not run.success for run in gold))
            rows.append(row)
        rest += [(name, _reason(run)) for run in gold if _reaches_the_goal(run) != run.success]
    head = ["runs with gold calls", "prediction", "cannot tell", "development", "held-out", "all", "false passes"]
    table("All needed calls made: prediction against reward (to reach: 97 %, no false pass)", head, rows)
    counted = Counter(rest)
    rows = [[name, *reason, count] for (name, reason), count in sorted(counted.items())]
    table("The rest, by kind (effect_match, finished, said)", ["runs", "reward", "kind", "count"], rows)


def _every_gold_call(run: Labelled) -> bool:
    tools = {tool.name: tool for tool in run.evidence.tools}
    gold = run.evidence.case.reference or ()
    wanted = Counter(call_key(tools.get(call.tool), call.tool, call.arguments) for call in gold)
    return not wanted - Counter(act.key for act in read(run.evidence).acts)


def _effect(run: Labelled) -> float | None:
    return METRICS["effect_match"]().measure(run.evidence)[0]


def _effects(run: Labelled) -> bool:
    return _effect(run) == 1.0


def _reaches_the_goal(run: Labelled) -> bool:
    """A run that a limit cut off earns nothing, however right its calls are."""
    return run.evidence.trial.outcome == "finished" and _effects(run) and _said(run)


def _said(run: Labelled) -> bool:
    """Each of the task's gold words stands in some message of the agent, by the benchmarks' own reading of them."""
    steps = run.evidence.trial.trajectory.steps
    told = "\n".join(step.message.lower().replace(",", "") for step in steps if step.source == "agent" and step.message)
    return all(word.lower().replace(",", "") in told for word in _to_say(run.evidence.case.expected))


def _to_say(expected: JsonValue) -> list[str]:
    """The texts that the agent must have sent, in the spellings of tau-bench and tau2."""
    criteria = expected if isinstance(expected, dict) else {}
    lists = (criteria.get(name) for name in ("outputs", "communicate_info"))
    return [text for one in lists if isinstance(one, list) for text in one if isinstance(text, str) and text]


def _reason(run: Labelled) -> tuple[str, str]:
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
