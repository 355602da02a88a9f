"""The result of a drift check as lines of text for people."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from harness.cassettes.check import provenance_words
from harness.cassettes.profiles import ToolProfile
from harness.drift.compare import YOUNG
from harness.runs.store.drift_report import DriftFinding, DriftReport, Severity
from harness.text import shortened

_CHANGES = {
    "surface.tool_removed": "the tool is gone",
    "surface.input_required_added": "an argument is now needed",
    "surface.input_type_changed": "an argument takes something else",
    "surface.tool_added": "a new tool",
    "surface.input_added": "a new argument",
    "surface.output_added": "the declared answer has more",
    "surface.output_changed": "the declared answer changed",
    "surface.description_changed": "the description changed",
    "status.success_to_error": "an error instead of an answer",
    "status.code_changed": "another status",
    "schema.removed": "removed",
    "schema.type_changed": "another type",
    "schema.became_nullable": "can be null now",
    "schema.media_type": "another media type",
    "schema.optional_removed": "no longer there in some answers",
    "schema.enum_added": "a value that was never seen",
    "schema.added": "added",
    "value.changed": "another value",
    "shape.array_empty": "a list that was empty, or is now",
    "shape.order": "another order",
}
_SHOWN_CASES = 4
_SHOWN_WORDS = 5
_SHOWN_VALUES = 20
_WIDE = 160


def report_lines(report: DriftReport, details: int = 40) -> Iterator[str]:
    """Heading, findings by tool with before and after, what is uncertain, and how to reproduce it."""
    counts = Counter(finding.severity for finding in report.findings)
    counted = ", ".join(f"{counts[severity]} {severity}" for severity in _SEVERITIES)
    missing = f"not probed: {report.not_probed} of {report.compared + report.not_probed}" if report.not_probed else ""
    found = counted if report.findings else _nothing_found(report)
    yield f"drift of {report.suite}: {'; '.join(filter(None, (found, missing)))}"
    tool = None
    for finding in report.findings[:details]:
        if finding.tool != tool:
            tool = finding.tool
            yield ""
            yield tool
        yield from finding_lines(finding)
    if len(report.findings) > details:
        yield f"  and {len(report.findings) - details} more in drift.json"
    yield from _further_lines(report)


def _nothing_found(report: DriftReport) -> str:
    """Explains the absence of findings: unknown if nothing was compared, qualified if values changed."""
    if not report.exercised:
        return "not known, since no recorded call could be compared"
    if report.compared == 0:
        return "none in the listings; no recorded call could be compared"
    changed = len(_changed_values(report))
    values = f"{changed} value{'' if changed == 1 else 's'} changed (information)" if changed else ""
    if report.not_probed or report.unavailable:
        return f"none in what was compared{values and '; '}{values}"
    return f"none confirmed; {values}" if changed else "none"


def _changed_values(report: DriftReport) -> list[DriftFinding]:
    """Values that differ from the recording in every live answer, but whose stability is unknown."""
    return [one for one in report.unconfirmed if one.doubt == YOUNG]


def finding_lines(finding: DriftFinding) -> Iterator[str]:
    """One finding as text: the change, its place, before and after, and the affected cases."""
    where = finding.path or "the whole answer"
    operation = "" if finding.operation == finding.tool else f"{finding.operation}: "
    yield (
        f"  {finding.severity.upper():8}  {operation}{where}: {_CHANGES[finding.change]}"
        f" ({finding.old_kind} -> {finding.new_kind})  {finding.fingerprint}"
    )
    yield f"            before  {_short_json(finding.before)}"
    yield f"            after   {_short_json(finding.after)}"
    if finding.cases:
        yield f"            cases   {_cases_text(finding.cases)}"
    if finding.flips:
        yield f"            changes the verdict of  {_cases_text(finding.flips)}"
    if finding.doubt is not None:
        yield f"            not sure: {finding.doubt}"


def profile_lines(profile: ToolProfile) -> Iterator[str]:
    """The known facts about a tool, one operation a line."""
    for name, operation in profile.operations.items():
        days = f"{len(operation.days)} days" if len(operation.days) != 1 else "1 day"
        known = "settled" if operation.is_settled else "not settled yet"
        yield f"{name}: {operation.samples} samples on {days}, {known}"
        for path in operation.volatile_paths():
            yield f"  changes by itself: {path or 'the whole answer'}"


def not_asked_lines(not_asked: Mapping[str, int]) -> Iterator[str]:
    """The recorded reads that were not sent again, and why."""
    for reason, count in sorted(not_asked.items()):
        yield f"not asked again ({count}): {reason}"


_SEVERITIES: tuple[Severity, ...] = ("breaking", "warning", "info")


def _further_lines(report: DriftReport) -> Iterator[str]:
    yield from _values(_changed_values(report))
    yield from _doubtful(one for one in report.unconfirmed if one.doubt != YOUNG)
    yield from _list_lines("the agent asked something else than was recorded (no drift of a tool):", report.divergences)
    yield from _list_lines("could not be examined:", report.unavailable)
    yield from _provenance(report)
    if report.findings or report.unconfirmed:
        yield ""
        yield f"see it again: {report.command}"
    listed = any(finding.change.startswith("surface.") for finding in report.findings)
    if any(not finding.change.startswith("surface.") for finding in report.findings):
        yield f"if that is how the tools are now: harness cassette refresh {report.suite} --from {report.run}"
    if listed:
        yield f"if that is what they offer now: harness tool refresh {report.suite}"


def _provenance(report: DriftReport) -> Iterator[str]:
    """Services that the comparison does not cover, because a double answered in their place, now or during
    recording.
    """
    if report.doubles:
        yield f"asked are doubles: {', '.join(report.doubles)}: nothing is learned of what they stand for"
    elsewhere = {name: count for name, count in report.provenance.items() if name not in ("service", "double")}
    foreign = elsewhere if report.doubles else {**elsewhere, "double": report.provenance.get("double", 0)}
    if any(foreign.values()):
        yield f"compared with recordings that are not all of a service: {provenance_words(report.provenance)}"


def _values(changed: Sequence[DriftFinding]) -> Iterator[str]:
    if not changed:
        return
    yield ""
    yield f"for information: {YOUNG}"
    for finding in changed[:_SHOWN_VALUES]:
        yield f"  {_in_a_line(finding)}"
        yield f"            before  {_short_json(finding.before)}"
        yield f"            after   {_short_json(finding.after)}"
    if len(changed) > _SHOWN_VALUES:
        yield f"  and {len(changed) - _SHOWN_VALUES} more in drift.json"


def _doubtful(findings: Iterable[DriftFinding]) -> Iterator[str]:
    reasons: dict[str, list[DriftFinding]] = {}
    for finding in findings:
        reasons.setdefault(finding.doubt or "", []).append(finding)
    for reason, found in sorted(reasons.items(), key=lambda one: -len(one[1])):
        yield from _list_lines(f"not sure, {reason}:", [_in_a_line(finding) for finding in found])


def _in_a_line(finding: DriftFinding) -> str:
    operation = "" if finding.operation == finding.tool else f" {finding.operation}"
    return f"{finding.tool}{operation}: {finding.path or 'the whole answer'}: {_CHANGES[finding.change]}"


def _list_lines(title: str, words: Sequence[str]) -> Iterator[str]:
    if words:
        yield ""
        yield title
        for one in words[:_SHOWN_WORDS]:
            yield f"  {one}"
        if len(words) > _SHOWN_WORDS:
            yield f"  and {len(words) - _SHOWN_WORDS} more in drift.json"


def _cases_text(cases: Sequence[str]) -> str:
    shown = ", ".join(cases[:_SHOWN_CASES])
    return shown if len(cases) <= _SHOWN_CASES else f"{shown} and {len(cases) - _SHOWN_CASES} more"


def _short_json(value: JsonValue) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _WIDE)
