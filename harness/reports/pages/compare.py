"""Two runs: what changed, what it is attributed to, and two trials side by side up to their first divergence."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.reports.change import MetricChange
from harness.reports.compare import CaseChange, Comparison, compare_runs
from harness.reports.pages import trial_parts as findings
from harness.reports.pages.markup import (
    PER_PAGE,
    UNKNOWN,
    Markup,
    bounded,
    chip,
    fragment,
    link,
    pager,
    pages_of,
    path_of,
    row,
    run_link,
    share_words,
    success_mark,
    table,
    tag,
    trial_path,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.trial_parts import Timeline, one_step, origins
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import differences
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Step, step_identity
from harness.traces.trial import Trial
from harness.values import canonical_json

_FAR = 1000
"""Steps of each trial that are aligned."""


def compare(ask: Ask) -> Page:
    """`/compare?before=&after=`."""
    before, after = ask.query.get("before", ""), ask.query.get("after", "")
    if not before or not after:
        raise UsageError("two runs are compared", remedy="open a run, and choose the other one there")
    folders = ask.project.run(before), ask.project.run(after)
    head = [
        tag("p", link(path_of("runs", after), after, data_up=True), class_="crumbs"),
        tag("h1", "Comparison"),
        tag("p", run_link(before), " before, ", run_link(after), " after. ", _turned(before, after), class_="count"),
    ]
    try:
        found = compare_runs(*folders)
    except UsageError as error:
        return Page(title="Comparison", body=fragment(*head, *_unlike(error, folders)), section="Runs")
    pairs = _pairs(ask, before, after)
    return Page(title="Comparison", body=fragment(*head, *_body(found, before, after), pairs), section="Runs")


def pair(ask: Ask) -> Page:
    """`/compare/{before}/{after}/{case}/{attempt}`: two trials of one case, aligned."""
    names = ask.place["before"], ask.place["after"]
    case, attempt = ask.place["case"], ask.attempt()
    sides = [_side(ask.project.run(name), name, case, attempt) for name in names]
    aligned = list(_aligned(sides[0].trial.trajectory.steps[:_FAR], sides[1].trial.trajectory.steps[:_FAR]))
    first = next((place for place, one in enumerate(aligned) if not one.same), None)
    up = path_of("compare", before=names[0], after=names[1])
    said = "The two trials do the same in every step." if first is None else ""
    jump = None if first is None else tag("p", link("#parting", "To the first divergence"), class_="notice")
    body = fragment(
        tag("p", link(up, "Comparison", data_up=True), class_="crumbs"),
        tag("h1", f"{case} / {attempt}"),
        tag("p", said, class_="notice") if said else jump,
        tag("div", *(_head(side) for side in sides), class_="pair heads"),
        tag("div", *(_row(one, place == first, sides) for place, one in enumerate(aligned)), class_="pairs"),
    )
    return Page(title=f"{case} / {attempt}", body=body, section="Runs")


@dataclass(frozen=True, kw_only=True)
class _Side:
    run: str
    trial: Trial
    card: Scorecard

    @property
    def timeline(self) -> Timeline:
        return Timeline(
            base=trial_path(self.run, self.trial.case_id, self.trial.attempt),
            trial=self.trial,
            diagnoses=self.card.diagnoses,
        )


@dataclass(frozen=True, kw_only=True)
class _Aligned:
    before: Step | None
    after: Step | None
    same: bool


def _side(folder: RunFolder, run: str, case: str, attempt: int) -> _Side:
    trial = folder.trial(case, attempt)
    if trial is None:
        raise UsageError(f"run {run!r} has no trial {bounded(case, 100)!r} attempt {attempt}")
    return _Side(run=run, trial=trial, card=folder.scorecard(case, attempt))


def _aligned(before: Sequence[Step], after: Sequence[Step]) -> Iterator[_Aligned]:
    """Steps of the same speaker that call the same tools stand beside each other."""
    matcher = difflib.SequenceMatcher(
        None, [_kind(one) for one in before], [_kind(one) for one in after], autojunk=False
    )
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            for old, new in zip(before[a:b], after[c:d], strict=True):
                yield _Aligned(before=old, after=new, same=_identity(old) == _identity(new))
            continue
        for old in before[a:b]:
            yield _Aligned(before=old, after=None, same=False)
        for new in after[c:d]:
            yield _Aligned(before=None, after=new, same=False)


def _kind(step: Step) -> tuple[str, ...]:
    return (step.source, *(call.name for call in step.calls))


def _identity(step: Step) -> str:
    identity = step_identity(step) | {"index": 0, "usage": None}
    try:
        return canonical_json(identity)
    except ValueError:  # NaN or an infinity of a tool has no canonical JSON
        return repr(identity)


def _head(side: _Side) -> Markup:
    mark = success_mark(side.card.success, side.card.outcome)
    at = link(trial_path(side.run, side.trial.case_id, side.trial.attempt), side.run)
    return tag("section", tag("h2", at, " ", mark), findings.checks(side.card, 400), aria_label=f"Checks of {side.run}")


def _row(one: _Aligned, parts: bool, sides: Sequence[_Side]) -> Markup:
    cells = [_cell(step, side) for step, side in zip((one.before, one.after), sides, strict=True)]
    note = tag("p", "first divergence", class_="parting", id="parting", tabindex="-1") if parts else None
    return tag("div", note, *cells, class_=f"pair {'same' if one.same else 'differs'}")


def _cell(step: Step | None, side: _Side) -> Markup:
    if step is None:
        return tag("div", "no such step", class_="gap")
    shown = one_step(step, side.timeline, origins(side.card.diagnoses), 600)
    return tag("ol", Markup(shown.replace(f'id="step-{step.index}" ', "")), class_="turn")


def _turned(before: str, after: str) -> Markup:
    return link(path_of("compare", before=after, after=before), "Swap")


def _unlike(error: UsageError, folders: tuple[RunFolder, RunFolder]) -> Iterator[Markup]:
    """Runs whose difference would say nothing: the conditions are shown all the same."""
    yield tag("p", f"The runs cannot be compared: {error.message}", class_="alert")
    if error.remedy:
        yield tag("p", error.remedy, class_="prose")
    yield _conditions(differences(folders[0].manifest, folders[1].manifest))


def _conditions(found: Sequence[object]) -> Markup:
    rows = [
        row(
            words(str(getattr(one, "field", ""))),
            *(bounded(str(getattr(one, key) or "")) for key in ("before", "after", "note")),
        )
        for one in found
    ]
    if not rows:
        return tag("p", "The conditions of the runs are the same.", class_="empty")
    return fragment(
        tag("h2", "Conditions"), table(("what", "before", "after", "note"), rows, caption="Conditions that differ")
    )


def _hidden(found: Comparison) -> str:
    lost = len(found.hidden)
    return f"; {lost} succeeded before and cannot be determined now, and gates count them as lost" if lost else ""


def _body(found: Comparison, before: str, after: str) -> Iterator[Markup]:
    success = found.success
    yield tag(
        "section",
        tag("div", tag("h2", "Before"), tag("p", share_words(success.before), class_="value"), class_="tile"),
        tag("div", tag("h2", "After"), tag("p", share_words(success.after), class_="value"), class_="tile"),
        tag(
            "div",
            tag("h2", f"{success.pairs} pairs: {success.better} better, {success.worse} worse"),
            tag("p", success.verdict + _hidden(found), class_="prose"),
            class_="tile",
        ),
        class_="tiles",
        aria_label="Success",
    )
    yield tag("p", f"Attribution: {found.attribution.verdict}.", class_="notice")
    for words_of in found.attribution.separating[:10]:
        yield tag("p", f"What would tell them apart: {bounded(words_of)}", class_="dim")
    yield _changed(found, before, after)
    rows = [_metric(one) for one in (*found.failures, *found.rules, *found.metrics) if one.difference]
    if rows:
        heads = ("figure", "#before", "#after", "#pairs", "says")
        yield fragment(tag("h2", "Figures that changed"), table(heads, rows, caption="Figures that changed"))
    yield _conditions(found.differences)


def _metric(one: MetricChange) -> Markup:
    shown = [UNKNOWN if value is None else f"{value:.3g}" for value in (one.before, one.after)]
    return row(words(one.metric), *shown, str(one.pairs), bounded(one.verdict))


def _changed(found: Comparison, before: str, after: str) -> Markup:
    rows = [_case(one, before, after) for one in (*found.changed, *found.hidden)[:500]]
    if not rows:
        return tag("p", "No trial changed between success and failure.", class_="empty")
    heads = ("trial", "before", "after", "category", "why")
    return fragment(
        tag("h2", "Trials that changed"), table(heads, rows, caption="Trials that changed", class_="plain list")
    )


def _case(one: CaseChange, before: str, after: str) -> Markup:
    path = path_of("compare", before, after, one.case_id, one.attempt)
    why = bounded("; ".join(one.reasons), 300)
    name = link(path, f"{one.case_id} / {one.attempt}")
    return row(name, success_mark(one.before), success_mark(one.after), one.category, why, href=path)


def _pairs(ask: Ask, before: str, after: str) -> Markup:
    """All trials that both runs have, to be seen side by side."""
    old = {(one.case_id, one.attempt): one for one in ask.project.index.lines(before)}
    both = [one for one in ask.project.index.lines(after) if (one.case_id, one.attempt) in old]
    pages = pages_of(len(both))
    number = ask.number("page", most=pages)
    rows = []
    for one in both[(number - 1) * PER_PAGE : number * PER_PAGE]:
        path = path_of("compare", before, after, one.case_id, one.attempt)
        was = old[one.case_id, one.attempt]
        cells = success_mark(was.success, was.outcome), success_mark(one.success, one.outcome)
        modes = fragment(*(chip(words(mode), "mode") for mode in one.modes))
        rows.append(row(link(path, f"{one.case_id} / {one.attempt}"), *cells, modes, href=path))
    return fragment(
        tag("h2", f"All {len(both)} pairs"),
        table(("trial", "before", "after", "failure modes"), rows, caption="All pairs", class_="plain list"),
        pager(number, pages, "/compare", ask.query),
    )


PAGES = PageSet(shows={"/compare": compare, "/compare/{before}/{after}/{case}/{attempt}": pair})
