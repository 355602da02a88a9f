"""A coding agent by rules that follows the skill `add-metric`: it looks up what a request counts in the skill's tables,
writes the class, scores the stored trials with it, and gives the verdict that the skill states for their values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cli.skills.following import Run, cells_of, read_skill, rows_of

Values = Mapping[str, float | None]
"""Case -> what the metric gives for its trial."""

_CLASS = """

class {name}:
    name = "{name}"
    version = "1"

    def measure(self, evidence):
        failed = {{key: one.error.type for key, one in evidence.trial.trajectory.observations.items() if one.error}}
        writes = {{tool.name for tool in evidence.tools if tool.effect == "write"}}
        if {absent}:
            return None, "does not apply"
        items = list({items})
        those = [it for it in items if {condition}]
        return float(len(those)){divided}, f"{{len(those)}} of {{len(items)}}"
"""


@dataclass(frozen=True)
class Request:
    """What somebody wants measured, in the words of the skill's tables."""

    counts: str
    property: str | None = None
    """None: every item."""
    tool: str = ""


@dataclass(frozen=True)
class Added:
    """What the agent hands over for a request."""

    values: Values
    verdict: str
    """Up to the colon."""


def add(place: Path, requests: Mapping[str, Request], run: str, shell: Run) -> dict[str, Added]:
    """Follows the skill for the suite in the folder `place` and the stored run; name of a metric -> what came of it."""
    skill = read_skill("add-metric")
    report, score, explain, _ = skill.commands
    measured_before = {one["metric"] for one in shell(skill.words(report, {"RUN": run}))["figures"]}
    assert not measured_before & set(requests), measured_before
    (place / "figures.py").write_text("".join(map(write, requests, requests.values())).lstrip(), encoding="utf-8")
    path = place / "suite.yaml"
    suite = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**suite, "metrics": [f"figures.py:{name}" for name in requests]}), encoding="utf-8")
    shell(skill.words(score, {"RUN": run}))
    trials = shell(["harness", "trials", run, "--json"])
    cards = {
        one["case_id"]: shell(
            skill.words(explain, {"RUN": run, "CASE": one["case_id"], "ATTEMPT": str(one["attempt"])})
        )
        for one in trials
    }
    return {name: _judged(name, {case: told["scorecard"] for case, told in cards.items()}) for name in requests}


def write(name: str, request: Request) -> str:
    """The source of the metric, put together from the cells of the skill's tables."""
    items, absent = next(
        (row[1], row[2]) for row in cells_of("add-metric", "the request counts") if row[0] == request.counts
    )
    conditions = dict(rows_of("add-metric", "property"))
    condition = "True" if request.property is None else _code(conditions[request.property])
    return _CLASS.format(
        name=name,
        items=_code(items),
        absent=_code(absent),
        condition=condition.replace("TOOL", repr(request.tool)),
        divided=" / len(items)" if request.counts.startswith("share") else "",
    )


def _judged(name: str, cards: Mapping[str, Mapping[str, Any]]) -> Added:
    values = {case: _value(name, card) for case, card in cards.items()}
    successes = {case: card["success"] for case, card in cards.items()}
    rules = rows_of("add-metric", "condition on the values")
    verdict = next(verdict for condition, verdict in rules if _CONDITIONS[condition](values, successes))
    return Added(values, verdict.partition(":")[0])


def _value(name: str, card: Mapping[str, Any]) -> float | None:
    (told,) = [one["value"] for one in card["scores"] if one["metric"] == name]
    return None if told is None else float(told)


def _follows(values: Values, successes: Mapping[str, bool | None]) -> bool:
    known = {case: value for case, value in values.items() if value is not None}
    return all(value == float(successes[case] is True) for case, value in known.items())


_CONDITIONS: dict[str, Callable[[Values, Mapping[str, bool | None]], bool]] = {
    "all are None": lambda values, _: all(value is None for value in values.values()),
    "fewer than two differ": lambda values, _: len({value for value in values.values() if value is not None}) < 2,
    "each is 1 with success and 0 without": _follows,
    "none of these": lambda values, _: True,
}


def _code(cell: str) -> str:
    return cell.strip("`")
