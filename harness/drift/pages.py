"""What changed in the tools: findings of drift with the answers before and after, and the verdicts that change."""

from collections.abc import Iterator

from harness.drift.issue import TrackerOptions
from harness.drift.trackers import FolderTracker
from harness.errors import UsageError
from harness.reports.pages.markup import (
    Markup,
    bounded,
    chip,
    empty,
    facts,
    fold,
    fragment,
    link,
    path_of,
    row,
    run_link,
    shown_text,
    table,
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


# Issues that the project keeps as files: their status, labels and text.


def issues(ask: Ask) -> Page:
    """`/issues`: those that are kept as files of the project."""
    if not (ask.project.path / "issues").is_dir():
        nothing = empty(
            "The project keeps no issues as files.", "harness drift compare --help", "tells how drift files one."
        )
        return Page.of("Issues", nothing, section="Issues")
    rows = [
        row(
            link(path_of("issues", one.number), bounded(one.title, 200)),
            chip("open", "open") if one.is_open else chip("closed"),
            fragment(*(chip(bounded(label, 60)) for label in one.labels[:8])),
            href=path_of("issues", one.number),
        )
        for one in FolderTracker(TrackerOptions(project=ask.project.path)).find()[:1000]
    ]
    shown = table(("issue", "state", "labels"), rows, caption="Issues", class_="plain list")
    return Page.of("Issues", shown, section="Issues")


def issue(ask: Ask) -> Page:
    """`/issues/{number}`."""
    number = ask.place["number"]
    found = next(
        (one for one in FolderTracker(TrackerOptions(project=ask.project.path)).find() if str(one.number) == number),
        None,
    )
    if found is None:
        raise UsageError("there is no such issue")
    state = tag(
        "p", *map(chip, ("open" if found.is_open else "closed", *(bounded(one, 60) for one in found.labels[:20])))
    )
    text = shown_text(found.body, 50_000)
    return Page.of(bounded(found.title, 300), state, text, section="Issues", up=("/issues", "Issues"))


ISSUE_PAGES = PageSet(shows={"/issues": issues, "/issues/{number}": issue}, entry=("Trust", "Issues", "/issues"))
