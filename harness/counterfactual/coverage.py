"""What of its tools a suite touches: tools, parameters, values, errors, effects, rows, rules, failure modes.

A thing counts as touched where a trial of the run, or the reference of a case, touches it. State rows are read from the
probes of the trials: a row is touched where two trials leave it otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from harness.case import Case, FaultKind, FaultSpec, Suite, ToolSpec
from harness.counterfactual.coverage_arguments import parameters_of, values_of
from harness.counterfactual.coverage_rows import rows_of_states
from harness.counterfactual.covered import Covered, covered
from harness.disk import is_file
from harness.results import RunFolder
from harness.score import fed_calls
from harness.trace import Trial
from harness.values import Frozen, JsonObject

_RULE = re.compile(r"\brule:([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)")
_SERVER_ERROR = 500
_REFUSED = ("unknown_tool", "not_allowed", "unparsable_arguments", "invalid_arguments", "limit_reached")
"""Errors of the gateway itself: the tool was not called."""
_ERRORS = ("tool_error", "tool_unavailable", "timeout", "reset", "malformed_result")


class CoverageReport(Frozen):
    """The answer of `harness case coverage`."""

    suite: str
    run: str | None
    """The run whose trials were examined; None: references alone."""
    trials: int
    dimensions: dict[str, Covered]


def coverage_of(suite: Suite, folder: RunFolder | None) -> CoverageReport:
    """Looks at the references of all cases and at the trials of a run. Nothing is run."""
    trials = [] if folder is None else [stored.trial for stored in folder.trials()]
    calls = list(_calls(suite.cases, trials))
    valid = [(name, given) for name, given, error in calls if error not in _REFUSED]
    dimensions = {
        "tools": covered([tool.name for tool in suite.tools], [name for name, _ in valid]),
        "parameters": parameters_of(suite.tools, valid),
        "values": values_of(suite.tools, valid),
        "errors": _errors(suite.cases, suite.tools, calls),
        "effects": _effects(suite.tools, calls),
        "rows": _rows(trials),
        "rules": covered(_rules(_prompts(suite)), _named_rules(suite)),
        "failure modes": _faults(suite.cases, trials),
    }
    return CoverageReport(
        suite=suite.name,
        run=None if folder is None else folder.manifest.run,
        trials=len(trials),
        dimensions={name: found for name, found in dimensions.items() if found.touched or found.untouched},
    )


Called = tuple[str, JsonObject, str | None]
"""Tool, arguments, type of the error."""


def _calls(cases: Sequence[Case], trials: Sequence[Trial]) -> Iterator[Called]:
    for case in cases:
        yield from ((one.tool, one.arguments, None) for one in case.reference or ())
    for trial in trials:
        yield from ((one.tool, one.arguments or {}, one.error) for one in fed_calls(trial))


def _possible_errors(tools: Sequence[ToolSpec]) -> list[str]:
    return [f"{tool.name}: {error}" for tool in tools for error in _ERRORS]


def _errors(cases: Sequence[Case], tools: Sequence[ToolSpec], calls: Sequence[Called]) -> Covered:
    """Errors that trials met, and those that the cases' faults answer with."""
    met = [f"{name}: {error}" for name, _, error in calls if error]
    for fault in (fault for case in cases for fault in case.faults):
        error = _error_of(fault)
        struck = [tool.name for tool in tools if fault.tool in ("*", tool.name)]
        met += [f"{name}: {error}" for name in struck] if error is not None else []
    return covered(_possible_errors(tools), met)


def _error_of(fault: FaultSpec) -> str | None:
    """The type of the error that an agent is answered with; None: a fault that only changes or delays the answer."""
    if fault.kind == "http_status":
        return "tool_unavailable" if (fault.status or 0) >= _SERVER_ERROR else "tool_error"
    return {"timeout": "timeout", "reset": "reset", "malformed": "malformed_result"}.get(fault.kind)


def _effects(tools: Sequence[ToolSpec], calls: Sequence[Called]) -> Covered:
    """Writes that were made without an error."""
    writes = [tool.name for tool in tools if tool.effect == "write"]
    return covered(writes, [name for name, _, error in calls if error is None])


def _rows(trials: Sequence[Trial]) -> Covered:
    """Rows that the probes saw: touched where trials left them differently."""
    every, changed = rows_of_states(trials)
    return covered(every, changed)


def _prompts(suite: Suite) -> Iterator[str | None]:
    """System prompts of the cases, and the prompts that agents declare."""
    yield from (case.system for case in suite.cases)
    for agent in suite.agents.values():
        for name in agent.prompts if agent.files is not None else ():
            path = suite.folder / (agent.files or "") / name
            yield path.read_text(encoding="utf-8", errors="replace") if is_file(path) else None


def _rules(prompts: Iterator[str | None]) -> list[str]:
    """The ids of rules that prompts name as `rule:<id>`; a full stop behind one ends the sentence."""
    return [found for prompt in prompts for found in _RULE.findall(prompt or "")]


def _named_rules(suite: Suite) -> list[str]:
    """Rules that a tag of a case or the name of a check names likewise."""
    named = [tag for case in suite.cases for tag in case.tags]
    named += [check.name for case in suite.cases for check in (*suite.checks, *case.checks)]
    return [one.removeprefix("rule:") for one in named]


def _faults(cases: Sequence[Case], trials: Sequence[Trial]) -> Covered:
    """Kinds of faults that cases declare, and that struck a call of a trial, such as those of a campaign."""
    struck = [seen.injected for trial in trials for seen in trial.trajectory.observations.values() if seen.injected]
    return covered(get_args(FaultKind), [*(fault.kind for case in cases for fault in case.faults), *struck])
