"""The probes that a check reads: whether the suite has them, and are of the kind that the check is for."""

from typing import Literal

from harness.case import StateProbe, Suite

ProbeKind = Literal["tool", "sql", "api"]


def probe_problem(suite: Suite, name: str, kind: ProbeKind | None = None) -> str | None:
    """In words what is wrong with `with.probe`; None: a probe of the suite or of one of its cases has that name."""
    probes = (*suite.probes, *(probe for case in suite.cases for probe in case.probes))
    found = [probe for probe in probes if probe.name == name]
    if not found:
        known = ", ".join(sorted({probe.name for probe in probes})) or "none"
        return f"with.probe: {name!r} is none of the suite's probes ({known})"
    if kind is not None and any(getattr(probe, kind) is None for probe in found):
        return f"with.probe: the probe {name!r} has no `{kind}`"
    return None


def sql_problem(suite: Suite, name: str, *, tables: bool) -> str | None:
    """Likewise for a probe that reads whole tables (else: that makes a query)."""
    problem = probe_problem(suite, name, "sql")
    if problem is not None:
        return problem
    if any(_reads_tables(probe) != tables for probe in (*suite.probes, *_of_cases(suite)) if probe.name == name):
        needed = "tables" if tables else "query"
        return f"with.probe: the probe {name!r} has no `{needed}`, which this check is about"
    return None


def _reads_tables(probe: StateProbe) -> bool:
    return probe.sql is not None and probe.sql.tables is not None


def _of_cases(suite: Suite) -> list[StateProbe]:
    return [probe for case in suite.cases for probe in case.probes]
