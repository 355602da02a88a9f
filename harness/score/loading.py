"""A suite's verifiers and metrics found by name and checked, before anything runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from harness.alternatives import alternatives
from harness.case import Case, CheckSpec, DeclaredCheck, Suite
from harness.documents import first_problem
from harness.errors import UsageError
from harness.plugins import find_object, find_plugin
from harness.score.evaluators import ItemEvaluator, RunEvaluator, signature_problem
from harness.score.failures import built_in_versions, find_detector
from harness.score.metrics import METRICS
from harness.score.protocols import Detector, Metric, RunMetric, Verifier
from harness.score.verifiers import VERIFIERS


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


def metrics_of(suite: Suite) -> tuple[Metric | ItemEvaluator, ...]:
    """The built-in metrics and then the suite's own, in the order in which it names them."""
    own = [_metric(suite, name) for name in suite.metrics if name not in METRICS]
    found: tuple[Metric | ItemEvaluator, ...] = (*(metric() for metric in METRICS.values()), *own)
    _refuse_twins(suite, "metrics", [metric.name for metric in found])
    names = {metric.name for metric in found}
    unknown = [] if any(isinstance(metric, ItemEvaluator) for metric in found) else sorted({*suite.composite} - names)
    if unknown:
        raise UsageError(
            f"suite {suite.name!r}, field 'composite': there is no metric {', '.join(map(repr, unknown))}",
            remedy=alternatives(unknown[0], sorted(names)),
        )
    return found


def run_metrics_of(suite: Suite) -> tuple[RunMetric | RunEvaluator, ...]:
    """The suite's figures over a whole run."""
    found = tuple(_run_metric(suite, name) for name in suite.run_metrics)
    _refuse_twins(suite, "run_metrics", [metric.name for metric in found])
    return found


def detectors_of(suite: Suite) -> tuple[Detector, ...]:
    """The suite's own detectors, in the order in which it names them."""
    found = tuple(_detector(suite, name) for name in suite.detectors)
    _refuse_twins(suite, "detectors", [*built_in_versions(), *(one.name for one in found)])
    return found


def _detector(suite: Suite, name: str) -> Detector:
    try:
        return find_detector(name, suite.folder)
    except UsageError as error:
        raise UsageError(f"suite {suite.name!r}, field 'detectors': {error.message}", remedy=error.remedy) from None


def _metric(suite: Suite, name: str) -> Metric | ItemEvaluator:
    found = _figure(suite, "metric", "item", name)
    if not isinstance(found, type):
        return ItemEvaluator(name=_name_of(found), function=found)
    metric: Metric = found()
    return metric


def _run_metric(suite: Suite, name: str) -> RunMetric | RunEvaluator:
    found = _figure(suite, "run_metric", "run", name)
    if not isinstance(found, type):
        return RunEvaluator(name=_name_of(found), function=found)
    metric: RunMetric = found()
    return metric


def _name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _verifier(suite: Suite, case: Case, check: CheckSpec) -> NamedVerifier:
    declared = DeclaredCheck(suite, case, check)
    try:
        found = find_plugin("verifier", check.verifier, VERIFIERS, folder=suite.folder)
    except UsageError as error:
        raise declared.error(error.message, "verifier", remedy=error.remedy) from None
    if not hasattr(found, "verify") or not isinstance(getattr(found, "version", None), str):
        raise declared.error(f"{check.verifier!r} has no `verify` method or no text `version`", "verifier")
    verifier = _made(declared, check, found)
    problem_in = getattr(verifier, "problem_in", None)
    problem = problem_in(suite) if callable(problem_in) else None
    if problem is not None:
        field, _, words = problem.partition(": ")
        raise declared.error(words, *field.split("."))
    return NamedVerifier(check=check, verifier=verifier, version=verifier.version)


def _made(declared: DeclaredCheck, check: CheckSpec, found: type) -> Verifier:
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


def _figure(suite: Suite, seam: str, level: Literal["item", "run"], name: str) -> Callable[..., Any]:
    try:
        found = find_object(seam, name, {}, folder=suite.folder)
    except UsageError as error:
        raise UsageError(f"suite {suite.name!r}, field '{seam}s': {error.message}", remedy=error.remedy) from error
    if not callable(found):
        raise UsageError(f"suite {suite.name!r}, field '{seam}s': {name!r} is neither a class nor a function")
    if not isinstance(found, type):
        problem = signature_problem(found, level)
        if problem is not None:
            raise UsageError(f"suite {suite.name!r}, field '{seam}s': the evaluator {name!r} {problem}")
        return found
    for needed in ("name", "version", "measure"):
        if not hasattr(found, needed):
            raise UsageError(f"suite {suite.name!r}, field '{seam}s': {name!r} has no `{needed}`")
    return found


def _refuse_twins(suite: Suite, field: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"suite {suite.name!r}, field {field!r}: two figures are named {', '.join(twice)}")
