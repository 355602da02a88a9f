"""A run as JUnit XML for continuous integration.

A failed check is a `failure`; a trial that the harness could not run and one with undecided checks are an `error`,
which no reader of the file counts as passed. Inconclusive trials, which end a run with exit status 1, are errors too,
unless their number is allowed, and so are trials that never ran, which end it with exit status 3. Only allowed
inconclusive trials and cases without a check are `skipped`. The last output of the agent's program is in `system-err`
and `system-out` of a trial without success.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from harness.report.figures.printed import PrintedEnd
from harness.report.figures.summary import Summary
from harness.report.render.wording import facts, printable, printed_head, provenance_words
from harness.score import Scorecard


def junit_xml(summary: Summary, scorecards: Sequence[Scorecard], max_inconclusive: int = 0) -> str:
    """One test suite a category, one test case a trial. `max_inconclusive`: how many such trials the run may have."""
    run = summary.manifest
    root = ET.Element("testsuites", name=printable(f"{run.suite} {run.agent}"))
    cards = {(card.case_id, card.attempt): card for card in scorecards}
    categories = list(dict.fromkeys(card.category for card in scorecards))
    for category in categories:
        own = [card for card in cards.values() if card.category == category]
        _suite(root, category, own, summary, allowed=summary.counts.inconclusive <= max_inconclusive)
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
