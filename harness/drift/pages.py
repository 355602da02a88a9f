"""What changed in the tools: findings of drift with the answers before and after, and the verdicts that change."""

from collections.abc import Iterator

from harness.reports.pages.markup import (
    Markup,
    bounded,
    chip,
    empty,
    facts,
    fold,
    fragment,
    run_link,
    tag,
    value_text,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.trial_parts import diff
from harness.runs.store.drift_report import DriftFinding, DriftReport, drift_reports

_PER_PAGE = 20
_FINDINGS = 200
_KINDS = {"breaking": "bad", "warning": "open", "info": ""}


def drift(ask: Ask) -> Page:
    """`/drift`: the checks, the newest first."""
    shown, beside = ask.part(drift_reports(ask.project.path), "/drift", _PER_PAGE)
    parts = [_report(one) for one in shown] or [
        empty(
            "No check for drift is stored.",
            "harness drift run SUITE",
            "asks the real tools and compares their answers.",
        )
    ]
    return Page.of("Drift", *parts, beside, section="Drift")


def _report(report: DriftReport) -> Markup:
    known = facts(
        (
            ("suite", bounded(report.suite, 100)),
            ("seen", f"{report.seen:%Y-%m-%d %H:%M}"),
            ("run", run_link(report.run)),
            ("compared", str(report.compared)),
            ("not probed", str(report.not_probed)),
            ("again with", tag("code", bounded(report.command, 300))),
        )
    )
    title = f"{report.run}: {len(report.findings)} findings"
    return tag("section", tag("h2", title), known, *_findings(report), aria_label=title)


def _findings(report: DriftReport) -> Iterator[Markup]:
    for one in report.findings[:_FINDINGS]:
        yield _finding(one)
    if report.unconfirmed:
        unsure = [_finding(one) for one in report.unconfirmed[:_FINDINGS]]
        yield fold(f"Not confirmed: {len(report.unconfirmed)}", *unsure)
    for words_of in report.unavailable[:20]:
        yield tag("p", bounded(words_of), class_="alert")


def _finding(one: DriftFinding) -> Markup:
    head = fragment(
        chip(one.severity, _KINDS[one.severity]),
        tag("b", f"{bounded(one.operation, 120)} {bounded(one.path, 120)}"),
        f" {one.change}: {bounded(one.old_kind, 80)} → {bounded(one.new_kind, 80)}",
    )
    flips = tag("p", f"Verdicts that change: {bounded(', '.join(one.flips))}", class_="bad") if one.flips else None
    cases = tag("p", f"Cases: {bounded(', '.join(one.cases))}", class_="dim") if one.cases else None
    doubt = tag("p", bounded(one.doubt), class_="open") if one.doubt is not None else None
    shown = diff(value_text(one.before), value_text(one.after), "recorded", "live")
    return fold(head, tag("p", f"{words(one.tool)}, fingerprint {one.fingerprint}"), flips, cases, doubt, shown)


PAGES = PageSet(shows={"/drift": drift}, entry=("Trust", "Drift", "/drift"))
