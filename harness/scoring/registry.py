"""Verifiers and metrics by name: the built-in ones, and a suite's own, found and checked before anything runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from harness.errors import UsageError
from harness.plugins import find_object, find_plugin
from harness.scoring.findings.facts import BUILT_IN
from harness.scoring.metrics import calls, efficiency, outcomes, plans
from harness.scoring.scorecard import Detector, Metric, Verifier
from harness.suite.cases import Case, CheckSpec
from harness.suite.checks import DeclaredCheck
from harness.suite.problems import first_problem
from harness.suite.suites import Suite

_PLACES: Final[Mapping[str, str]] = {
    "api": "harness.scoring.verifiers.probes:Api",
    "command": "harness.scoring.verifiers.files:Command",
    "criterion": "harness.scoring.verifiers.answers:CriterionMet",
    "dom": "harness.scoring.verifiers.dom:Dom",
    "files": "harness.scoring.verifiers.files:Files",
    "final_answer": "harness.scoring.verifiers.answers:FinalAnswer",
    "forbidden_tools": "harness.scoring.verifiers.calls:ForbiddenTools",
    "json_schema": "harness.scoring.verifiers.answers:JsonSchema",
    "max_iterations": "harness.scoring.verifiers.calls:MaxIterations",
    "max_tokens": "harness.scoring.verifiers.calls:MaxTokens",
    "required_tools": "harness.scoring.verifiers.calls:RequiredTools",
    "no_failure": "harness.scoring.verifiers.calls:NoFailure",
    "reference_state": "harness.scoring.verifiers.reference_state:EqualsReferenceState",
    "reward": "harness.scoring.verifiers.answers:Reward",
    "rules": "harness.scoring.verifiers.calls:Rules",
    "sql": "harness.scoring.verifiers.probes:Sql",
    "state": "harness.scoring.verifiers.probes:State",
    "task_tests": "harness.scoring.verifiers.files:TaskTests",
    "trajectory": "harness.scoring.verifiers.calls:TrajectoryVerifier",
}


class _Verifiers(Mapping[str, type]):
    """Imports a check's module when a suite uses the check: most suites use a few."""

    def __getitem__(self, name: str) -> type:
        module, _, kind = _PLACES[name].partition(":")
        found: type = getattr(import_module(module), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


VERIFIERS: Final[Mapping[str, type]] = _Verifiers()


# The built-in metrics, by name. Each docstring gives formula, unit and exclusions before anything is counted.

METRICS: dict[str, type] = {
    metric.name: metric
    for metric in (
        outcomes.TaskSuccess,
        outcomes.Completion,
        calls.ToolSelection,
        calls.ToolAllowed,
        calls.CallMatch,
        calls.CallPrecision,
        calls.CallRecall,
        calls.EffectMatch,
        outcomes.PartialCredit,
        calls.ParameterValidity,
        plans.PlanQuality,
        plans.PlanCoverage,
        plans.PlanOrder,
        plans.PlanAdherence,
        efficiency.StepEfficiency,
        efficiency.Redundancy,
        outcomes.Recovery,
        outcomes.Termination,
        calls.Routing,
        efficiency.Steps,
        efficiency.Turns,
        efficiency.Tokens,
        efficiency.CostUsd,
    )
}


_METHODS: Final = ("measure", "find")
"""Of a class that a suite names under `metrics`: a metric, and a detector of failures."""


@dataclass(frozen=True, kw_only=True)
class NamedVerifier:
    """A check as declared, and its verifier."""

    check: CheckSpec
    verifier: Verifier
    version: str


def verifiers_of(suite: Suite) -> dict[str, tuple[NamedVerifier, ...]]:
    """Case id -> its checks. Raises UsageError naming suite, case, check and field."""
    found: dict[str, tuple[NamedVerifier, ...]] = {}
    for case in suite.cases:
        checks = [*suite.checks, *case.checks]
        names = [check.name for check in checks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(f"suite {suite.name!r}, case {case.id!r}: checks are named twice: {', '.join(twice)}")
        found[case.id] = tuple(_verifier(suite, case, check) for check in checks)
    return found


def metrics_of(suite: Suite) -> tuple[Metric, ...]:
    """The built-in metrics and then the suite's own, in the order in which it names them."""
    own = (one() for one in _own_figures(suite, "measure"))
    return _without_twins(suite, (*(metric() for metric in METRICS.values()), *own))


def detectors_of(suite: Suite) -> tuple[Detector, ...]:
    """The suite's own detectors, in the order in which it names them."""
    return _without_twins(suite, [one() for one in _own_figures(suite, "find")], (BUILT_IN,))


def _verifier(suite: Suite, case: Case, check: CheckSpec) -> NamedVerifier:
    declared = DeclaredCheck(suite, case, check)
    try:
        found = find_plugin("verifier", check.verifier, VERIFIERS, folder=suite.folder)
    except UsageError as error:
        raise declared.error(error.message, "verifier", remedy=error.remedy) from None
    if not hasattr(found, "verify") or not isinstance(getattr(found, "version", None), str):
        raise declared.error(f"{check.verifier!r} has no `verify` method or no text `version`", "verifier")
    verifier = _make_verifier(declared, check, found)
    problem_in = getattr(verifier, "problem_in", None)
    problem = problem_in(suite) if callable(problem_in) else None
    if problem is not None:
        field, _, words = problem.partition(": ")
        raise declared.error(words, *field.split("."))
    return NamedVerifier(check=check, verifier=verifier, version=verifier.version)


def _make_verifier(declared: DeclaredCheck, check: CheckSpec, found: type) -> Verifier:
    try:
        built: Any = (
            found.model_validate(check.parameters) if issubclass(found, BaseModel) else found(**check.parameters)
        )
    except ValidationError as error:
        location, problem = first_problem(found, error)
        fields = found.model_fields.items() if issubclass(found, BaseModel) else ()
        known = ", ".join(info.alias or name for name, info in fields) or "none"
        raise declared.error(problem, "with", *location, remedy=f"its parameters: {known}") from None
    except TypeError as error:
        raise declared.error(str(error), "with") from None
    verifier: Verifier = built
    return verifier


def _own_figures(suite: Suite, method: str) -> Iterator[type[Any]]:
    """The classes that the suite names under `metrics`, if they have the method."""
    for name in suite.metrics:
        found = None if name in METRICS else _figure(suite, name)
        if found is not None and hasattr(found, method):
            yield found


def _figure(suite: Suite, name: str) -> type[Any]:
    where = f"suite {suite.name!r}, field 'metrics':"
    try:
        found = find_object("metric", name, {}, folder=suite.folder)
    except UsageError as error:
        raise UsageError(f"{where} {error.message}", remedy=error.remedy) from error
    if not isinstance(found, type):
        raise UsageError(f"{where} {name!r} is no class", remedy=f"name a class with `{'` or `'.join(_METHODS)}`")
    missing = [needed for needed in ("name", "version") if not hasattr(found, needed)]
    if not any(hasattr(found, method) for method in _METHODS):
        missing.append("` or `".join(_METHODS))
    if missing:
        raise UsageError(f"{where} {name!r} has no `{missing[0]}`")
    return found


def _without_twins(suite: Suite, figures: Sequence[Any], built_in: Iterable[str] = ()) -> tuple[Any, ...]:
    names = [*built_in, *(one.name for one in figures)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"suite {suite.name!r}, field 'metrics': two figures are named {', '.join(twice)}")
    return tuple(figures)


# The code in a suite: a suite that is stored beside a run may come from an untrusted source, and must name none.


def named_code(suite: Suite) -> tuple[str, ...]:
    """Each field that names code outside of the harness, as `field: name`.

    These are checks, metrics and detectors that are not built in, from a file, a module or an installed package;
    functions in parameters of checks; and servers that are programs or Python files.
    """
    return tuple(dict.fromkeys(_named_code(suite)))


def _named_code(suite: Suite) -> Iterator[str]:
    for check in (*suite.checks, *(check for case in suite.cases for check in case.checks)):
        if check.verifier not in VERIFIERS:
            yield f"check {check.name!r}: {check.verifier}"
        if check.parameters.get("function") is not None:
            yield f"check {check.name!r}: {check.parameters['function']}"
    yield from (f"metrics: {name}" for name in suite.metrics if name not in METRICS)
    for name, server in suite.servers.items():
        if server.is_program:
            yield f"server {name!r}"
