"""A coding agent by rules that follows the skill `review-drift`: the first row of its table that a finding meets is the
verdict about the tool.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.cli.skills.following import Run, read_skill, rows_of, value_at

_PARTS = ("divergences", "unavailable", "unconfirmed")
_STANDS = re.compile(r"^it stands in `([a-z]+)`$")
_LARGER = re.compile(r"^`([a-z]+)` is larger than `([a-z]+)`$")
_IS = re.compile(r"^`([a-z]+)` is `([a-z]+)`$")
_FILLED = re.compile(r"^`([a-z]+)` is not empty$")


def review(run: str, shell: Run) -> dict[str, set[str]]:
    """Tool -> its verdicts, by the words before the colon; `clean` where the report exercised it without a finding."""
    skill = read_skill("review-drift")
    report = shell(skill.words(skill.commands[0], {"RUN": run}))
    rules = rows_of("review-drift", "condition on the finding")
    verdicts: dict[str, set[str]] = {}
    for part in ("findings", *_PARTS):
        for one in report[part]:
            told = {"tool": _tool_in(one)} if isinstance(one, str) else one
            verdict = next(verdict for condition, verdict in rules if _meets(condition, told, part))
            verdicts.setdefault(told["tool"], set()).add(verdict.partition(":")[0])
    for tool in report["exercised"]:
        verdicts.setdefault(tool, {"clean"})
    return verdicts


def _tool_in(line: str) -> str:
    """Of `CASE, attempt 1: the agent asked TOOL({...})` or `TOOL: never answered`."""
    asked = re.search(r"the agent asked ([\w.-]+)\(", line)
    return asked[1] if asked else line.partition(":")[0]


def _meets(condition: str, finding: Mapping[str, Any], part: str) -> bool:
    return all(_holds(one, finding, part) for one in condition.split(" and "))


def _holds(condition: str, finding: Mapping[str, Any], part: str) -> bool:
    if found := _STANDS.match(condition):
        return part == found[1]
    if found := _LARGER.match(condition):
        return (value_at(finding, found[1]) or 0) > (value_at(finding, found[2]) or 0)
    if found := _IS.match(condition):
        return bool(value_at(finding, found[1]) == found[2])
    if found := _FILLED.match(condition):
        return bool(value_at(finding, found[1]))
    raise ValueError(f"the skill states a condition that no agent by rules can decide: {condition!r}")
