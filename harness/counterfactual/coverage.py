"""What of its tools a suite touches: tools, parameters, values, errors, effects, rows, rules, failure modes.

A thing counts as touched where a trial of the run, or the reference of a case, touches it. State rows are read from the
probes of the trials: a row is touched where two trials leave it otherwise.
"""

import re
from collections.abc import Iterator, Sequence

from harness.case import Case, Suite, ToolSpec
from harness.disk import is_file
from harness.results import RunFolder
from harness.score import fed_calls
from harness.trace import Trial
from harness.values import Frozen, JsonValue, canonical_json

_RULE = re.compile(r"\brule:([A-Za-z0-9_.-]+)")
_ERRORS = ("tool_error", "tool_unavailable", "timeout", "reset", "malformed_result")


class Covered(Frozen):
    """One dimension of the coverage."""

    touched: tuple[str, ...]
    untouched: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """Touched of all; None where there is nothing to touch."""
        every = len(self.touched) + len(self.untouched)
        return len(self.touched) / every if every else None


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
    dimensions = {
        "tools": _of([tool.name for tool in suite.tools], [name for name, _, _ in calls]),
        "parameters": _of(_parameters(suite.tools), [f"{name}.{key}" for name, given, _ in calls for key in given]),
        "values": _values(suite.tools, calls),
        "errors": _of(_possible_errors(suite.tools), [f"{name}: {error}" for name, _, error in calls if error]),
        "effects": _effects(suite.tools, calls),
        "rows": _rows(trials),
        "rules": _of(_rules(_prompts(suite)), _named_rules(suite)),
        "failure modes": _faults(suite.cases),
    }
    return CoverageReport(
        suite=suite.name,
        run=None if folder is None else folder.manifest.run,
        trials=len(trials),
        dimensions={name: found for name, found in dimensions.items() if found.touched or found.untouched},
    )


Called = tuple[str, dict[str, JsonValue], str | None]
"""Tool, arguments, type of the error."""


def _calls(cases: Sequence[Case], trials: Sequence[Trial]) -> Iterator[Called]:
    for case in cases:
        yield from ((one.tool, one.arguments, None) for one in case.reference or ())
    for trial in trials:
        yield from ((one.tool, one.arguments or {}, one.error) for one in fed_calls(trial))


def _of(every: Sequence[str], touched: Sequence[str]) -> Covered:
    known = dict.fromkeys(every)
    hit = set(touched)
    return Covered(
        touched=tuple(one for one in known if one in hit), untouched=tuple(one for one in known if one not in hit)
    )


def _properties(tool: ToolSpec) -> dict[str, JsonValue]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def _parameters(tools: Sequence[ToolSpec]) -> list[str]:
    return [f"{tool.name}.{name}" for tool in tools for name in _properties(tool)]


def _values(tools: Sequence[ToolSpec], calls: Sequence[Called]) -> Covered:
    """Enumerated values, and the two of a truth value."""
    every: list[str] = []
    for tool in tools:
        for name, schema in _properties(tool).items():
            if not isinstance(schema, dict):
                continue
            listed = schema.get("enum")
            choices: list[JsonValue] = listed if isinstance(listed, list) else []
            choices = [True, False] if schema.get("type") == "boolean" else choices
            every += [f"{tool.name}.{name}={canonical_json(choice)}" for choice in choices]
    given = [f"{name}.{key}={canonical_json(value)}" for name, args, _ in calls for key, value in args.items()]
    return _of(every, given)


def _possible_errors(tools: Sequence[ToolSpec]) -> list[str]:
    return [f"{tool.name}: {error}" for tool in tools for error in _ERRORS]


def _effects(tools: Sequence[ToolSpec], calls: Sequence[Called]) -> Covered:
    """Writes that were made without an error."""
    writes = [tool.name for tool in tools if tool.effect == "write"]
    return _of(writes, [name for name, _, error in calls if error is None])


def _rows(trials: Sequence[Trial]) -> Covered:
    """Rows of the probes' lists, by probe: touched where trials leave different ones."""
    by_place: dict[str, set[str]] = {}
    for trial in trials:
        for probe, value in trial.states.items():
            for place, row in _lists(value, probe):
                by_place.setdefault(place, set()).add(row)
    touched = [place for place, values in by_place.items() if len(values) > 1]
    return _of(sorted(by_place), touched)


def _lists(value: JsonValue, place: str) -> Iterator[tuple[str, str]]:
    match value:
        case list():
            yield place, canonical_json(value)
        case dict():
            for name, inner in value.items():
                yield from _lists(inner, f"{place}.{name}")
        case _:
            return


def _prompts(suite: Suite) -> Iterator[str | None]:
    """System prompts of the cases, and the prompts that agents declare."""
    yield from (case.system for case in suite.cases)
    for agent in suite.agents.values():
        for name in agent.prompts if agent.files is not None else ():
            path = suite.folder / (agent.files or "") / name
            yield path.read_text(encoding="utf-8", errors="replace") if is_file(path) else None


def _rules(prompts: Iterator[str | None]) -> list[str]:
    """The ids of rules that prompts name as `rule:<id>`."""
    return [found for prompt in prompts for found in _RULE.findall(prompt or "")]


def _named_rules(suite: Suite) -> list[str]:
    """Rules that a tag of a case or the name of a check names likewise."""
    named = [tag for case in suite.cases for tag in case.tags]
    named += [check.name for case in suite.cases for check in (*suite.checks, *case.checks)]
    return [one.removeprefix("rule:") for one in named]


def _faults(cases: Sequence[Case]) -> Covered:
    kinds = ("latency", "timeout", "http_status", "malformed", "empty", "missing_field", "renamed_field", "reset")
    return _of(kinds, [fault.kind for case in cases for fault in case.faults])
