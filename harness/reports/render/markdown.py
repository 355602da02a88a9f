"""A summary as Markdown, for pull requests and for reading later."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
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
    margin_lines,
    recorded_lines,
    sections,
    trend_sections,
    verdict_of,
)
from harness.reports.render.wording import (
    UNKNOWN,
    between,
    change_words,
    facts,
    measured_words,
    miss_words,
    number,
    overlay_words,
    own_metrics_first,
    percent,
    percent_between,
    printable,
    printed_head,
    provenance_words,
    remedy_words,
    service_words,
    share,
    signed,
    signed_points,
    success_words,
    tier_words,
    unmeasured_words,
    use_words,
)
from harness.reports.summary import Summary, TrialGroup
from harness.reports.trend import Trend
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
    yield from _parts("category", summary.categories)
    yield from _parts("difficulty", summary.difficulties)
    yield from _metrics(summary)
    for section in sections(summary):
        yield from section_lines(section)
    if summary.failed:
        yield from ["", "## Trials without success", ""]
        for case in summary.failed:
            yield f"- {plain(case.case_id)}/{case.attempt}: {plain('; '.join(case.reasons))}"
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


def _parts(kind: str, parts: Sequence[TrialGroup]) -> Iterator[str]:
    metrics = own_metrics_first(list(dict.fromkeys(f.metric for part in parts for f in part.figures if f.n)))
    yield from ["", f"## By {kind}", ""]
    yield from table_head([kind, "trials", "success", "%", "95 %", *metrics])
    for part in parts:
        rate = part.success
        means = [number(part.mean(name)) for name in metrics]
        interval = percent_between(rate.interval)
        yield table_row([part.name, str(part.trials), share(rate), percent(rate.rate), interval, *means])


def _metrics(summary: Summary) -> Iterator[str]:
    yield from ["", "## By metric", ""]
    yield from table_head(["metric", "mean", "95 %", "known for"])
    for name in own_metrics_first([figure.metric for figure in summary.figures]):
        figure = summary.figure(name)
        if figure is not None:
            known = f"{figure.n} of {summary.counts.measured}"
            yield table_row([name, number(figure.mean), between(figure.interval), known])
    for score in summary.run_scores:
        yield table_row([score.metric, number(score.value), "", "the run"])


def section_lines(section: Section) -> Iterator[str]:
    """A section's heading, table and notes."""
    yield from ["", f"## {section.title[0].upper()}{section.title[1:]}", ""]
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


# A comparison and a trend as Markdown, for pull requests and for reading later.


def comparison_markdown(comparison: "Comparison") -> str:
    """The whole comparison; every trial whose success changed is named."""
    return "\n".join(_comparison(comparison)) + "\n"


def trend_markdown(trend: Trend) -> str:
    """All releases that the trend holds."""
    lines = [f"# {plain(trend.suite)}: {len(trend.releases)} releases"]
    return (
        "\n".join([*lines, *(line for one in trend_sections(trend) if one.rows for line in section_lines(one))]) + "\n"
    )


def _comparison(comparison: "Comparison") -> Iterator[str]:
    yield f"# {plain(comparison.before.run)} → {plain(comparison.after.run)}"
    yield from ["", f"**{change_words(comparison)}.**"]
    if comparison.unpaired:
        yield from ["", f"{comparison.unpaired} trials without a measured counterpart are omitted."]
    yield from _changes("category", [(part.name, part.success) for part in comparison.categories])
    metrics = {change.metric: change for change in comparison.metrics}
    yield from _changes("metric", [(name, metrics[name]) for name in own_metrics_first(list(metrics))])
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
        why = plain("; ".join(case.reasons))
        yield f"- {plain(case.case_id)}/{case.attempt} succeeded before, cannot be determined now: {why}"
    for case in comparison.changed:
        now = "now succeeds; was" if case.after else "now fails"
        yield f"- {plain(case.case_id)}/{case.attempt} {now}: {plain('; '.join(case.reasons))}"


def _changes(kind: str, changes: Sequence[tuple[str, MetricChange]]) -> Iterator[str]:
    show, sign = (percent, signed_points) if kind == "category" else (number, signed)
    yield from ["", f"## By {kind}", ""]
    yield from table_head([kind, "before", "after", "change", "better", "worse", "pairs", "p", "says"])
    for name, change in changes:
        counts = [str(change.better or UNKNOWN), str(change.worse or UNKNOWN), str(change.pairs)]
        figures = (show(change.before), show(change.after), sign(change.difference), *counts)
        yield table_row([name, *figures, chance(change), verdict_of(change)])


# A comparison as a comment on a pull request: the deciding figures first, all other parts folded.

_FIGURES = {
    "task_success": "success",
    "cost_usd": "cost, US$",
    "tokens": "tokens",
    LATENCY: "latency, s",
    "steps": "steps",
}
_MOST_CASES = 20


def comment_markdown(comparison: "Comparison", checks: Sequence[MarginCheck]) -> str:
    """Success, cost, tokens, latency and steps with paired intervals; the gates; the cases that changed.

    The column `trials` gives the trials in which a figure is known in both runs, of those that the later run planned.
    """
    return "\n".join(_lines(comparison, checks)) + "\n"


def _lines(comparison: "Comparison", checks: Sequence[MarginCheck]) -> Iterator[str]:
    after = comparison.after
    yield f"## {plain(after.suite)}: {plain(after.agent)}"
    yield ""
    standing = {check.metric: check.standing.replace("_", " ") for check in checks}
    yield from table_head(["figure", "before", "after", "change", "95 %", "trials", "gate"])
    for metric, name in _FIGURES.items():
        found = _found(comparison, metric)
        known = f"{0 if found is None else found.pairs} of {len(after.planned)}"
        yield table_row([name, *_cells(found), known, standing.get(metric, "")])
    if checks:
        yield from ["", *(f"- {plain(line.strip())}" for line in margin_lines(checks))]
    changed = (*comparison.hidden, *comparison.changed)
    if changed:
        yield ""
    for case in changed[:_MOST_CASES]:
        now = {True: "now succeeds", False: "now fails", None: "is undecided now"}[case.after]
        yield f"- {plain(case.case_id)}/{case.attempt} {now}: {plain('; '.join(case.reasons))}"
    if len(changed) > _MOST_CASES:
        yield f"- and {len(changed) - _MOST_CASES} more"
    if comparison.broken_rules:
        yield from section_lines(broken_section(comparison.broken_rules))
    yield from ["", "<details><summary>Complete comparison</summary>", ""]
    yield comparison_markdown(comparison)
    yield "</details>"


def _found(comparison: "Comparison", metric: str) -> MetricChange | None:
    every = (comparison.held or comparison.success, comparison.latency, *comparison.metrics)
    return next((one for one in every if one is not None and one.metric == metric and one.pairs), None)


def _cells(found: MetricChange | None) -> list[str]:
    if found is None:
        return ["not measured", "", "", ""]
    if not found.is_amount:
        return [
            percent(found.before),
            percent(found.after),
            signed_points(found.difference),
            percent_between(found.interval),
        ]
    relative = found.relative_difference
    interval = found.relative
    return [
        f"{found.before:.4g}",
        f"{found.after:.4g}",
        signed(found.difference) if relative is None else f"{relative:+.1%}",
        UNKNOWN if interval is None else f"{interval.low:+.1%} to {interval.high:+.1%}",
    ]


# A summary and a comparison as JSON, for programs.


def summary_json(summary: Summary) -> str:
    return _text(summary)


def comparison_json(comparison: "Comparison", margins: "Sequence[MarginCheck]" = ()) -> str:
    """The comparison as JSON, with the verdicts on requested margins."""
    checks: JsonObject = {"margins": [check.model_dump() for check in margins]} if margins else {}
    return _text({**comparison.model_dump(), **checks})


def _text(value: Summary | JsonObject) -> str:
    plain = value.model_dump() if isinstance(value, Summary) else value
    return json.dumps(plain, indent=1, ensure_ascii=True) + "\n"


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
        "junit.xml": junit_xml(summary, folder.scorecards()),
        "summary.md": summary_markdown(summary),
    }
    for name, text in texts.items():
        write_atomically(target / name, text.encode("utf-8", "backslashreplace"))
    return target / "summary.md"
