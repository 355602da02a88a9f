"""Selects cases of a suite by the ids that a user has typed."""

from collections.abc import Iterable

from harness.alternatives import alternatives
from harness.case.case import Case
from harness.case.suite import Suite
from harness.errors import UsageError


def case_of(suite: Suite, case_id: str) -> Case:
    """The case called `case_id`. Raises UsageError where the suite has none, with the nearest ids."""
    for case in suite.cases:
        if case.id == case_id:
            return case
    known = [case.id for case in suite.cases]
    raise UsageError(f"suite {suite.name!r} has no case {case_id!r}", remedy=alternatives(case_id, known))


def check_cases(suite: Suite, case_ids: Iterable[str]) -> None:
    """Raises UsageError for the first id, in alphabetical order, that no case of the suite has."""
    for case_id in sorted(set(case_ids)):
        case_of(suite, case_id)
