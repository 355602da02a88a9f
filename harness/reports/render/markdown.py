"""A summary as Markdown, for pull requests and for reading later."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from harness.disk import write_atomically
from harness.reports.change import LATENCY, MetricChange
from harness.reports.durations import PrintedEnd
from harness.reports.margin import MarginCheck
from harness.reports.render.sections import (
    NOTATION,
    Section,
    attribution_lines,
    broken_section,
    chance,
    comparison_sections,
    figure_sections,
    margin_lines,
    recorded_lines,
)
from harness.reports.render.wording import (
    change_words,
    facts,
    measured_words,
    miss_words,
    overlay_words,
    printable,
    printed_head,
    provenance_words,
    reason_words,
    remedy_words,
    service_words,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.reports.summary import Summary
from harness.reports.units import (
    UNKNOWN,
    figure,
    p_words,
    percent,
    points_between,
    signed_percent,
    signed_points,
)
from harness.runs.store.folder import RunFolder
from harness.scoring.rules.learned import broken
from harness.scoring.scorecard import Scorecard
from harness.values import JsonObject

if TYPE_CHECKING:
    from harness.reports.compare import Comparison

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~$"} | {"&": "&amp;"})
_FOUND_BY_TRACKERS = re.compile(r"@(?=[\w`-])|[#!&](?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
"""Mentions, numbers of issues, and addresses, which are looked for in the text as it is shown: no escape hides them."""
_BREAK = "\u200b"


def summary_markdown(summary: Summary) -> str:
    """The whole summary; every failed and every unmeasured trial is named."""
    return "\n".join(_summary(summary)) + "\n"


def _summary(summary: Summary) -> Iterator[str]:
    yield f"# {plain(summary.manifest.suite)}: {plain(summary.manifest.agent)}"
    yield ""
    yield f"**{success_words(summary.success)}**; {measured_words(summary)}."
    yield ""
    yield f"Run {plain(summary.manifest.run)}; " + "; ".join(f"{k} {plain(v)}" for k, v in facts(summary.manifest))
    yield from _not_measured(summary)
    for section in figure_sections(summary):
        yield from section_lines(section)
    if summary.failed:
        yield from ["", "## Trials that did not pass", ""]
        for case in summary.failed:
            yield f"- {plain(case.case_id)}/{case.attempt}: {plain(reason_words(case.reasons))}"
            yield from _printed(case.printed)
    for words in (tier_words(summary), use_words(summary), provenance_words(summary)):
        if words is not None:
            yield from ["", f"{words[0].upper()}{words[1:]}."]
    lines = recorded_lines(summary)
    if lines:
        yield from ["", "## Cassettes", "", *(f"- {plain(line.strip())}" for line in lines)]
    remarks = overlay_words(summary)
    if remarks:
        yield from ["", "## Warnings", "", *(f"- {plain(remark)}" for remark in remarks)]


def _not_measured(summary: Summary) -> Iterator[str]:
    words = unmeasured_words(summary)
    if words is None:
        return
    yield from ["", f"## {words[0].upper()}{words[1:]}", "", "They are not counted in any figure.", ""]
    for one in summary.unmeasured:
        reason = f": {plain(one.reason)}" if one.reason else ""
        yield f"- {plain(one.case_id)}/{one.attempt} {plain(one.outcome)}{reason}"
        yield from (f"  - {plain(words)}" for words in service_words(one))
        yield from _printed(one.printed)
    for miss in summary.misses:
        said, nearest = miss_words(miss)
        yield f"- {plain(said)}" + ("" if nearest is None else f"; nearest: {plain(nearest)}")
    if summary.misses:
        purpose, remedy = remedy_words(summary)
        yield from ["", f"{purpose[0].upper()}{purpose[1:]}: `{remedy.replace('`', '')}`"]


def _printed(ends: Sequence[PrintedEnd]) -> Iterator[str]:
    for end in ends:
        yield f"  - {plain(printed_head(end))}:"
        yield from (f"    - {plain(line)}" for line in end.lines)


def section_lines(section: Section, level: int = 2) -> Iterator[str]:
    """A section's heading of that level, table and notes."""
    yield from ["", f"{'#' * level} {section.title[0].upper()}{section.title[1:]}", ""]
    yield from table_head(section.heads)
    yield from (table_row(row) for row in section.rows)
    if section.notes:
        yield from ["", *(f"- {plain(note)}" for note in section.notes)]


def table_head(names: Sequence[str]) -> list[str]:
    """A table's first two lines; the first column is text, the others are figures."""
    return [table_row(names), "|".join(["", "---", *["---:"] * (len(names) - 1), ""])]


def table_row(cells: Sequence[str]) -> str:
    """A table's line, every cell escaped."""
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"


def plain(text: str) -> str:
    """Escapes untrusted text for Markdown: no markup, mention, link or HTML remains active."""
    return _FOUND_BY_TRACKERS.sub(lambda found: found[0] + _BREAK, printable(text)).translate(_SPECIAL)


# A comparison as Markdown, for pull requests and for reading later.


def comparison_markdown(comparison: "Comparison") -> str:
    """The whole comparison; every trial whose success changed is named."""
    return "\n".join(_comparison(comparison)) + "\n"


def _comparison(comparison: "Comparison") -> Iterator[str]:
    yield f"# {plain(comparison.before.run)} → {plain(comparison.after.run)}"
    yield from ["", f"**{change_words(comparison)}.**"]
    if comparison.unpaired:
        yield from ["", f"{comparison.unpaired} trials without a measured counterpart are omitted."]
    for section in comparison_sections(comparison):
        yield from section_lines(section)
    yield from ["", f"{NOTATION}.", "", "## Attribution", ""]
    yield from (f"- {plain(line)}" for line in attribution_lines(comparison))
    yield from ["", "## Differences between the runs", ""]
    for one in comparison.differences:
        note = "" if one.note is None else f" (warning: {one.note})"
        yield f"- {plain(one.field.replace('_', ' '))}: {plain(one.before)} → {plain(one.after)}{note}"
    if not comparison.differences:
        yield "Nothing else."
    if comparison.changed or comparison.hidden:
        yield from ["", "## Changed", ""]
    for case in comparison.hidden:
        why = plain(reason_words(case.reasons))
        yield f"- {plain(case.case_id)}/{case.attempt} passed before, cannot be determined now: {why}"
    for case in sorted(comparison.changed, key=lambda one: bool(one.after)):
        why = "now passes" if case.after else f"now fails: {plain(reason_words(case.reasons))}"
        yield f"- {plain(case.case_id)}/{case.attempt} {why}"


# A comparison as a comment on a pull request: the deciding figures first, all other parts folded.

_FIGURES = {
    "task_success": "passed",
    "cost_usd": "cost",
    "tokens": "tokens",
    LATENCY: "latency",
    "steps": "steps",
}
_MOST_CASES = 50
_LONGEST_REASON = 1_000
_LONGEST_COMMENT = 60_000
"""Characters; GitHub refuses a comment of more than 65,536."""


Address = tuple[str, str]
"""The name of a place that the comment links to, and its URL."""

_ADDRESSES: Final = (
    ("the run's pages", "{HARNESS_PAGES_URL}"),
    ("the run's pages", "{CI_JOB_URL}/artifacts/browse"),
    ("the run's pages", "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}#artifacts"),
    ("the workflow run", "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"),
    ("the workflow run", "{CI_PIPELINE_URL}"),
    ("the workflow run", "{BUILD_URL}"),
)
"""What is linked, and where it is by the variables of the service that runs the job: the first that are all set."""
_URL = re.compile(r"https?://[^\s<>()\[\]\\`]{1,2000}")


def addresses_of(environment: Mapping[str, str]) -> tuple[Address, ...]:
    """The pages of the run and the workflow run, by the variables that the continuous integration sets."""
    found: dict[str, str] = {}
    for name, template in _ADDRESSES:
        with suppress(KeyError):
            url = template.format_map({key: value for key, value in environment.items() if value})
            if name not in found and _URL.fullmatch(url):
                found[name] = url
    return tuple(found.items())


def comment_markdown(comparison: "Comparison", checks: Sequence[MarginCheck], addresses: Sequence[Address] = ()) -> str:
    """The verdict, the regressions with their current reasons, broken rules, the number of fixes, categories, figures
    with paired intervals and gates, and links; the complete comparison is folded, and left out of a long comment.

    The column `trials` gives the trials in which a figure is known in both runs, of those that the later run planned.
    """
    head = "\n".join(_comment(comparison, checks, addresses)) + "\n"
    rest = f"\n<details><summary>Complete comparison</summary>\n\n{comparison_markdown(comparison)}\n</details>\n"
    return head if len(head) + len(rest) > _LONGEST_COMMENT else head + rest


def _comment(comparison: "Comparison", checks: Sequence[MarginCheck], addresses: Sequence[Address]) -> Iterator[str]:
    lost = (*(one for one in comparison.changed if not one.after), *comparison.hidden)
    fixes = sum(one.after is True for one in comparison.changed)
    yield f"## {plain(comparison.after.suite)}: {plain(comparison.after.agent)}"
    yield ""
    yield f"**{_verdict(comparison, checks, len(lost))}**"
    if lost:
        yield from ["", f"### Regressions: {len(lost)}", ""]
        for case in lost[:_MOST_CASES]:
            now = "fails" if case.after is False else "is undecided"
            why = printable(reason_words(case.reasons), _LONGEST_REASON)
            yield f"- {plain(case.case_id)}/{case.attempt} {now}: {plain(why)}"
        if len(lost) > _MOST_CASES:
            yield f"- and {len(lost) - _MOST_CASES} more, in the complete comparison"
    if comparison.broken_rules:
        yield from section_lines(broken_section(comparison.broken_rules), level=3)
    cause = comparison.attribution
    if cause.unrecorded and not cause.changed:
        yield from ["", f"### {plain(cause.verdict[0].upper() + cause.verdict[1:])}", ""]
        yield from (f"- {plain(one)}" for one in cause.unrecorded)
    yield from ["", f"Fixes: {fixes}."]
    yield from _categories(comparison)
    yield from _figures(comparison, checks)
    if addresses:
        yield from ["", "; ".join(f"[{name}]({url})" for name, url in addresses)]


def _verdict(comparison: "Comparison", checks: Sequence[MarginCheck], lost: int) -> str:
    """The worst gate, else the test of the success rate, in one line."""
    from harness.reports.compare import is_replayed

    found = comparison.held or comparison.success
    order = ("better", "parity", "cannot_tell", "worse")
    if checks:
        standing = max((one.standing for one in checks), key=order.index)
        word = {"parity": "no worse than the margins"}.get(standing, standing.replace("_", " "))
    else:
        unclear = "regressed" if lost and is_replayed(comparison.after) else "no significant change"
        word = {"same": "unchanged", "cannot_tell": unclear}.get(found.found, found.found)
    regressions = f"{lost} regression{'' if lost == 1 else 's'}"
    shown = f"passed {percent(found.before)} → {percent(found.after)} over {found.pairs} trials"
    p = "" if found.p is None else f", {p_words(found.p)}"
    return f"{word[0].upper()}{word[1:]}: {shown}{plain(p)}; {regressions}"


def _categories(comparison: "Comparison") -> Iterator[str]:
    if len(comparison.categories) < 2:
        return
    yield ""
    yield from table_head(["category", "before", "after", "change", "trials", "p"])
    for part in sorted(comparison.categories, key=lambda one: one.success.difference or 0.0):
        one = part.success
        shown = (percent(one.before), percent(one.after), signed_points(one.difference), str(one.pairs), chance(one))
        yield table_row([part.name, *shown])


def _figures(comparison: "Comparison", checks: Sequence[MarginCheck]) -> Iterator[str]:
    standing = {check.metric: check.standing.replace("_", " ") for check in checks}
    yield ""
    yield from table_head(["figure", "before", "after", "change", "95 %", "trials", "gate"])
    planned = len(comparison.after.planned)
    for metric, name in _FIGURES.items():
        found = _found(comparison, metric)
        if found is not None or metric in standing or metric == "task_success":
            known = f"{0 if found is None else found.pairs} of {planned}"
            yield table_row([name, *_cells(found), known, standing.get(metric, "")])
    if checks:
        yield from ["", *(f"- {plain(line.strip())}" for line in margin_lines(checks))]


def _found(comparison: "Comparison", metric: str) -> MetricChange | None:
    every = (comparison.held or comparison.success, comparison.latency, *comparison.metrics)
    return next((one for one in every if one is not None and one.metric == metric and one.pairs), None)


def _cells(found: MetricChange | None) -> list[str]:
    if found is None:
        return ["not measured", "", "", ""]
    values = [figure(found.metric, found.before), figure(found.metric, found.after)]
    if not found.is_amount:
        return [*values, signed_points(found.difference), points_between(found.interval)]
    ends = found.relative
    between = UNKNOWN if ends is None else f"{signed_percent(ends.low)} to {signed_percent(ends.high)}"
    return [*values, signed_percent(found.relative_difference), between]


# A summary and a comparison as JSON, for programs.


def summary_json(summary: Summary) -> str:
    return _text(summary.model_dump())


def comparison_json(comparison: "Comparison", margins: "Sequence[MarginCheck]" = ()) -> str:
    """The comparison as JSON, with the verdicts on requested margins."""
    checks: JsonObject = {"margins": [check.model_dump() for check in margins]} if margins else {}
    return _text({**comparison.model_dump(), **checks})


def _text(value: JsonObject) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"


# A run as JUnit XML for continuous integration.
#
# A failed check is a `failure`; a trial that the harness could not run and one with undecided checks are an `error`,
# which no reader of the file counts as passed. Inconclusive trials, which end a run with exit status 1, are errors
# too,
# unless their number is allowed, and so are trials that never ran, which end it with exit status 3. Only allowed
# inconclusive trials and cases without a check are `skipped`. The last output of the agent's program is in
# `system-err`
# and `system-out` of a trial without success.


def junit_xml(summary: Summary, scorecards: Sequence[Scorecard]) -> str:
    """One test suite a category, one test case a trial."""
    most = summary.manifest.gates.max_inconclusive
    run = summary.manifest
    root = ET.Element("testsuites", name=printable(f"{run.suite} {run.agent}"))
    cards = {(card.case_id, card.attempt): card for card in scorecards}
    categories = list(dict.fromkeys(card.category for card in scorecards))
    for category in categories:
        own = [card for card in cards.values() if card.category == category]
        _suite(root, category, own, summary, allowed=summary.counts.inconclusive <= most)
    never = [one for one in summary.unmeasured if one.outcome == "not_run"]
    if never:
        suite = ET.SubElement(root, "testsuite", name="not run")
        for one in never:
            test = ET.SubElement(suite, "testcase", classname="not run", name=f"{one.case_id}/{one.attempt}")
            ET.SubElement(test, "error", message="the run ended before this trial", type="not_run")
        _count(suite)
    _count(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, category: str, cards: Sequence[Scorecard], summary: Summary, *, allowed: bool) -> None:
    """`allowed`: the run may have as many inconclusive trials as it has."""
    suite = ET.SubElement(root, "testsuite", name=printable(category))
    _properties(suite, summary)
    printed = {(one.case_id, one.attempt): one.printed for one in summary.failed}
    printed |= {(one.case_id, one.attempt): one.printed for one in summary.unmeasured}
    for card in cards:
        name = f"{card.case_id}/{card.attempt}"
        test = ET.SubElement(suite, "testcase", classname=printable(category), name=name)
        if name in summary.seconds:
            test.set("time", f"{summary.seconds[name]:.3f}")
        _rules(test, card)
        _result(test, card, allowed=allowed)
        _streams(test, printed.get((card.case_id, card.attempt), ()))
    _count(suite)


def _properties(suite: ET.Element, summary: Summary) -> None:
    run = summary.manifest
    known = {"run": run.run, "created": run.created, **dict(facts(run))}
    provenance = provenance_words(summary)
    if provenance is not None:
        known["provenance"] = provenance.partition(": ")[2]
    element = ET.SubElement(suite, "properties")
    for name, value in known.items():
        ET.SubElement(element, "property", name=name, value=printable(value))


def _rules(test: ET.Element, card: Scorecard) -> None:
    """The broken rules as properties of the test case: a change of behaviour fails no test."""
    found = broken(card.rules)
    element = ET.SubElement(test, "properties") if found else test
    for one in found:
        ET.SubElement(
            element, "property", name="broken rule", value=printable(f"{one.rule}: {one.reason} ({one.support})")
        )


def _streams(test: ET.Element, ends: Sequence[PrintedEnd]) -> None:
    for end in ends:
        tag = {"stderr": "system-err", "stdout": "system-out"}[end.stream]
        head = [] if end.printed_bytes <= end.kept_bytes else [f"[{printed_head(end)}]"]
        ET.SubElement(test, tag).text = "\n".join([*head, *(printable(line) for line in end.lines)])


def _result(test: ET.Element, card: Scorecard, *, allowed: bool) -> None:
    reason = printable(card.reason or card.outcome)
    match card.outcome:
        case "harness_failed" | "simulator_failed":
            ET.SubElement(test, "error", message=reason, type=card.outcome)
        case "inconclusive" if allowed:
            ET.SubElement(test, "skipped", message=reason)
        case "inconclusive":
            ET.SubElement(test, "error", message=reason, type=card.outcome)
        case "finished" | "limit_reached" | "agent_failed":
            _verdicts(test, card)


def _verdicts(test: ET.Element, card: Scorecard) -> None:
    failed = [one for one in card.verdicts if one.passed is False]
    for one in failed:
        ET.SubElement(test, "failure", message=printable(f"{one.check}: {one.reason}"), type=one.verifier)
    if not failed and card.success is None:
        unknown = [f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is None]
        if unknown:
            ET.SubElement(test, "error", message=printable("; ".join(unknown)), type="undecided")
        else:
            ET.SubElement(test, "skipped", message="the case has no check")


def _count(element: ET.Element) -> None:
    tests = list(element.iter("testcase"))
    times = [float(test.attrib["time"]) for test in tests if "time" in test.attrib]
    if times:
        element.set("time", f"{sum(times):.3f}")
    element.set("tests", str(len(tests)))
    for kind in ("failure", "error", "skipped"):
        count = sum(test.find(kind) is not None for test in tests)
        element.set({"failure": "failures", "error": "errors"}.get(kind, kind), str(count))


# Writes the report of a stored run into its folder.


def write_report(folder: RunFolder, summary: Summary) -> Path:
    """Writes `report/summary.md`, `junit.xml` and `summary.json` into the run folder; returns the path of the Markdown.

    `summary` is the folder's own: the same folder gives the same bytes, and an older report is replaced.
    """
    target = folder.path / "report"
    texts = {
        "summary.json": summary_json(summary),
        "junit.xml": junit_xml(summary, folder.cards()),
        "summary.md": summary_markdown(summary),
    }
    for name, text in texts.items():
        write_atomically(target / name, text.encode("utf-8", "backslashreplace"))
    return target / "summary.md"
