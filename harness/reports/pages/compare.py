"""Two runs: what changed, regressions first, what it is attributed to, and two trials side by side."""

import difflib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from harness.errors import NotMeasured, UsageError
from harness.reports.compare import CaseChange, Comparison, GroupChange, compare_runs, compare_with_baseline
from harness.reports.pages import trial_parts as findings
from harness.reports.pages.blind import preferences
from harness.reports.pages.markup import (
    NO_RUNS,
    Markup,
    around,
    bounded,
    choice,
    chosen_of,
    empty,
    filters,
    fragment,
    link,
    path_of,
    row,
    run_link,
    section,
    section_tables,
    success_mark,
    table,
    tag,
    tiles,
    trial_path,
    words,
)
from harness.reports.pages.plots import Bar, bars
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import TrialLine, line_of, neighbours
from harness.reports.pages.trial_parts import Timeline, one_step, origins, step_difference
from harness.reports.render.sections import NOTATION, attribution_lines, chance, comparison_sections
from harness.reports.units import figure, percent
from harness.runs.store.baseline import read_baseline
from harness.runs.store.folder import RunFolder, TrialKey
from harness.runs.store.manifest import ManifestDifference, RunManifest, differences
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Step, step_identity
from harness.traces.trial import Trial
from harness.values import canonical_json

_FAR = 1000
"""Steps of each trial that are aligned."""
_KINDS = ("regressed", "fixed", "changed", "all")
_FIGURES = ("category", "metric", "mode", "rule")
"""What a figure of the page filters the trials by."""


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """`before`: None for the baseline of the suite."""

    before: str | None
    after: str
    found: Comparison
    old: Mapping[TrialKey, TrialLine]
    new: Mapping[TrialKey, TrialLine]

    def path(self, **asked: str | None) -> str:
        """The address of the page with a filter."""
        return path_of("compare", before=self.before, after=self.after, **asked)

    def pair_path(self, key: TrialKey, ask: Ask) -> str:
        """Both trials side by side, if both are stored; in files only those that changed are."""
        changed = self.kind_of(key) is not None
        if self.before is None or (ask.texts is not None and not changed):
            return trial_path(self.after, *key)
        return path_of("compare", self.before, self.after, *key, **_asked(ask))

    def chosen(self, ask: Ask) -> tuple[str, Sequence[TrialKey]]:
        """What the address asks for, and its trials: the regressions, unless it asks for others."""
        figures = [(name, ask.query[name]) for name in _FIGURES if ask.query.get(name)]
        default = "all" if figures else "regressed" if self.regressed else "changed" if self.fixed else "all"
        kind = ask.query.get("show", default)
        return kind, [
            key
            for key in self.keys
            if (kind in ("all", self.kind_of(key)) or (kind == "changed" and self.kind_of(key) is not None))
            and all(self.counts(key, *one, ask.query.get("way", "")) for one in figures)
        ]

    def counts(self, key: TrialKey, what: str, name: str, way: str) -> bool:
        """Whether the trial stands in a figure: of its category, of what it shows in one of the runs, or of a
        metric that changed. `way`: only if it is `better` there, or `worse`.
        """
        old, new = self.old[key], self.new[key]
        match what:
            case "category":
                return name == new.category and way in ("", _WAYS.get(self.kind_of(key) or ""))
            case "mode" | "rule":
                had, has = (float(name in (*one.modes, *(rule for rule, _ in one.broken))) for one in (old, new))
                return _went(has - had) == way if way else bool(had or has)
            case _:
                was, now = old.values.get(name), new.values.get(name)
                if was is None or now is None or not way:
                    return was != now and not way
                return _went((now - was) * (1 if name in self.less_is_better else -1)) == way

    @cached_property
    def less_is_better(self) -> Set[str]:
        return {one.metric for one in self.found.metrics if one.lower_is_better}

    @cached_property
    def regressed(self) -> Mapping[TrialKey, CaseChange]:
        """Trials that succeeded, and fail now or can no longer be determined."""
        lost = (*(one for one in self.found.changed if one.before), *self.found.hidden)
        return {(one.case_id, one.attempt): one for one in lost}

    @cached_property
    def fixed(self) -> Mapping[TrialKey, CaseChange]:
        return {(one.case_id, one.attempt): one for one in self.found.changed if not one.before}

    def kind_of(self, key: TrialKey) -> str | None:
        return "regressed" if key in self.regressed else "fixed" if key in self.fixed else None

    @cached_property
    def keys(self) -> Sequence[TrialKey]:
        """Trials of both sides: regressions first, then fixes, then the rest in the planned order."""
        order = {"regressed": 0, "fixed": 1, None: 2}
        return sorted((key for key in self.new if key in self.old), key=lambda key: order[self.kind_of(key)])


_WAYS = {"regressed": "worse", "fixed": "better"}


def _went(more: float) -> str:
    """Where a change leads of which more is worse."""
    return "worse" if more > 0 else "better" if more < 0 else ""


def compare(ask: Ask) -> Page:
    """`/compare?before=&after=`, without `before` against the baseline, or `?run=&run=` of two ticked runs."""
    before, after = _names(ask)
    if after is None:
        return Page.of("Comparison", *_choice(ask), section="Comparison")
    folder = ask.project.run(after)
    said = run_link(before) if before is not None else f"the baseline of {folder.manifest.suite}"
    swap = None if before is None else link(path_of("compare", before=after, after=before), "Swap")
    sides = tag("p", said, " before, ", run_link(after), " after. ", swap, class_="count")
    try:
        body = _body(ask, _sides(ask, before, after, folder))
    except (UsageError, NotMeasured) as error:
        body = _unlike(error, None if before is None else ask.project.run(before).manifest, folder.manifest)
    return Page.of("Comparison", sides, *body, section="Comparison", up=(path_of("runs", after), after))


def _choice(ask: Ask) -> Iterator[Markup]:
    """What stands here until two runs are chosen."""
    names = [entry.name for entry in ask.project.index.entries() if entry.manifest is not None][:200]
    if not names:
        yield NO_RUNS
        return
    said = f"{len(ask.ticked)} runs are ticked: two are compared." if ask.ticked else "Choose two runs of one suite."
    yield empty(said, "harness compare BEFORE AFTER", "does the same in a terminal.")
    yield filters(
        choice("before", "before", names, ask.query.get("before", ""), otherwise="the suite's baseline"),
        choice("after", "after", names, next(iter(ask.ticked), names[0]), otherwise="choose"),
        action="/compare",
    )


def _names(ask: Ask) -> tuple[str | None, str | None]:
    """Of two ticked runs, the older one is before; none after: two runs are to be chosen."""
    ticked = list(dict.fromkeys(ask.ticked))
    if len(ticked) == 2:
        ticked.sort(key=lambda name: ask.project.run(name).manifest.created)
        return ticked[0], ticked[1]
    return ask.query.get("before") or None, ask.query.get("after") or None


def _sides(ask: Ask, before: str | None, after: str, folder: RunFolder) -> _Sides:
    new = {(one.case_id, one.attempt): one for one in ask.project.index.lines(after)}
    if before is None:
        baseline = read_baseline(ask.project.path, folder.manifest.suite)
        old = {(card.case_id, card.attempt): line_of(card) for card in baseline.scorecards}
        return _Sides(before=None, after=after, found=compare_with_baseline(baseline, folder), old=old, new=new)
    old = {(one.case_id, one.attempt): one for one in ask.project.index.lines(before)}
    return _Sides(before=before, after=after, found=_compared(ask, before, after), old=old, new=new)


def _compared(ask: Ask, before: str, after: str) -> Comparison:
    states = [(name, ask.project.index.state(name)) for name in (before, after)]
    found: Comparison = ask.project.made.got(
        tuple(states), lambda: compare_runs(ask.project.run(before), ask.project.run(after))
    )
    return found


def _body(ask: Ask, sides: _Sides) -> Iterator[Markup | None]:
    found, success = sides.found, sides.found.success
    fixed, regressed = len(sides.fixed), len(sides.regressed)
    own = f"{len(found.hidden)} of them succeeded before and cannot be determined now" * bool(found.hidden)
    shown = (
        ("Success", f"{percent(success.before)} → {percent(success.after)}", f"{success.pairs} pairs"),
        ("Regressed", link(sides.path(show="regressed"), str(regressed)), own or "succeeded before"),
        ("Fixed", link(sides.path(show="fixed"), str(fixed)), "failed before"),
    )
    said = (f"{words_of[:1].upper()}{words_of[1:]}." for words_of in (success.verdict, found.attribution.verdict))
    yield tag("p", " ".join(said), class_="notice")
    yield from (tag("p", bounded(one), class_="dim") for one in list(attribution_lines(found))[1:12])
    yield tiles("Success", shown)
    yield _trials(ask, sides)
    yield from _preferred(ask, sides)
    yield _categories(sides)
    yield _conditions(found.differences)
    rest = (one for one in comparison_sections(found) if one.key != "category")
    yield from section_tables(rest, lambda *cell: _led(sides, *cell))
    yield tag("p", NOTATION, class_="dim")


def _led(sides: _Sides, key: str, name: str, head: str) -> str | None:
    """The trials of a row, and of how many are better or worse in it."""
    way = head if head in ("better", "worse") else None
    return sides.path(**{key: _stored(key, name)}, way=way) if way or head == key else None


def _stored(key: str, name: str) -> str:
    """The name of a figure as trials have it; that of a failure mode is written as words."""
    return name.replace(" ", "_") if key == "mode" else name


def _trials(ask: Ask, sides: _Sides) -> Markup:
    kind, chosen = sides.chosen(ask)
    asked = ", ".join(
        f"{name} {bounded(words(ask.query[name]), 200)}" for name in (*_FIGURES, "way") if ask.query.get(name)
    )
    counts = (len(sides.regressed), len(sides.fixed), len(sides.regressed) + len(sides.fixed), len(sides.keys))
    links = [
        (sides.path(show=name), f"{name} {count}", name == kind) for name, count in zip(_KINDS, counts, strict=True)
    ]
    shown, beside = ask.part(chosen, "/compare", before=sides.before or "", after=sides.after, run="")
    rows = [_row(ask, sides, key) for key in shown]
    heads = ("trial", "before", "after", "category")
    said = f"{len(chosen)} trials{'' if kind == 'all' else f' {kind}'}{f' with {asked}' if asked else ''}"
    listed = table(heads, rows, caption=said, class_="plain list") if rows else tag("p", "No trial.", class_="empty")
    count = tag("p", said, class_="count") if asked else None
    return section("Trials", chosen_of("Which trials", links), count, listed, beside, id="trials")


def _asked(ask: Ask) -> dict[str, str]:
    """What the list of trials was asked for, which its pairs carry on."""
    return {name: ask.query[name] for name in ("show", "way", *_FIGURES) if ask.texts is None and ask.query.get(name)}


def _row(ask: Ask, sides: _Sides, key: TrialKey) -> Markup:
    old, new = sides.old[key], sides.new[key]
    lost = sides.regressed.get(key)
    why = "; ".join(lost.reasons) if lost is not None else "" if new.success else new.why
    if metric := ask.query.get("metric"):
        values = (figure(metric, one.values.get(metric)) for one in (old, new))
        why = f"{words(metric)} {' → '.join(values)}. {why}"
    path = sides.pair_path(key, ask)
    cells = success_mark(old.success, old.outcome), success_mark(new.success, new.outcome)
    said = tag("span", bounded(why, 300), class_="why") if why else None
    return row(fragment(link(path, f"{key[0]} / {key[1]}"), said), *cells, new.category, href=path)


def _preferred(ask: Ask, sides: _Sides) -> Iterator[Markup | None]:
    """What people say who compared trials of the two runs blind, by rubric."""
    if sides.before is not None:
        labels = ask.project.path / "suites" / sides.found.after.suite / "labels"
        yield from (preferences(file, sides.before, sides.after) for file in sorted(labels.glob("*.pairs.jsonl")))


def _categories(sides: _Sides) -> Markup:
    """Each category before and after, those that lost first."""
    own = sorted(sides.found.categories, key=lambda one: one.success.difference or 0)
    rows = [
        row(
            link(sides.path(category=one.name), bounded(one.name, 80)),
            percent(one.success.before),
            percent(one.success.after),
            link(sides.path(category=one.name, show="regressed"), str(one.success.worse)),
            link(sides.path(category=one.name, show="fixed"), str(one.success.better)),
            link(sides.path(category=one.name), str(one.success.pairs)),
            chance(one.success),
        )
        for one in own
    ]
    heads = ("category", "#before", "#after", "#regressed", "#fixed", "#pairs", "#p")
    return fragment(
        tag("h2", "Categories"),
        tag("figure", bars([bar for one in own for bar in _two(one)], caption="Success by category"), class_="boxed"),
        table(heads, rows, caption="Success by category"),
    )


def _two(one: GroupChange) -> Iterator[Bar]:
    yield Bar(name=bounded(one.name, 60), share=one.success.before, words=f"{percent(one.success.before)} before")
    yield Bar(name="", share=one.success.after, words=f"{percent(one.success.after)} after", kind="b")


def pair(ask: Ask) -> Page:
    """`/compare/{before}/{after}/{case}/{attempt}`: two trials of one case, aligned."""
    names = ask.place["before"], ask.place["after"]
    case, attempt = ask.place["case"], ask.attempt()
    sides = [_side(ask.project.run(name), name, case, attempt) for name in names]
    aligned = list(_aligned(sides[0].trial.trajectory.steps[:_FAR], sides[1].trial.trajectory.steps[:_FAR]))
    first = next((place for place, one in enumerate(aligned) if not one.same), None)
    up = path_of("compare", before=names[0], after=names[1], **_asked(ask))
    said = "The two trials do the same in every step." if first is None else ""
    jump = None if first is None else tag("p", link("#parting", "To the first divergence"), class_="notice")
    body = fragment(
        tag("div", link(up, "Comparison", data_up=True), _around(ask, *names, (case, attempt)), class_="crumbs"),
        tag("h1", f"{case} / {attempt}"),
        tag("p", said, class_="notice") if said else jump,
        tag("div", *(_head(side) for side in sides), class_="pair heads"),
        tag("div", *(_aligned_row(one, place == first, sides) for place, one in enumerate(aligned)), class_="pairs"),
    )
    return Page(title=f"{case} / {attempt}", body=body, section="Comparison")


def _around(ask: Ask, before: str, after: str, key: TrialKey) -> Markup | None:
    """The pairs before and after this one in the list that led here."""
    try:
        sides = _sides(ask, before, after, ask.project.run(after))
    except (UsageError, NotMeasured):
        return None
    _, keys = sides.chosen(ask)
    return around(neighbours(keys, keys.index(key) if key in keys else None), lambda one: sides.pair_path(one, ask))


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
            beside=True,
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


def _aligned_row(one: _Aligned, parts: bool, sides: Sequence[_Side]) -> Markup:
    cells = [_cell(step, side) for step, side in zip((one.before, one.after), sides, strict=True)]
    note = tag("p", "first divergence", class_="parting", id="parting", tabindex="-1") if parts else None
    apart = None
    if not one.same and one.before is not None and one.after is not None:
        apart = step_difference(one.before, one.after)
    return tag("div", note, *cells, apart, class_=f"pair {'same' if one.same else 'differs'}")


def _cell(step: Step | None, side: _Side) -> Markup:
    if step is None:
        return tag("div", "not in this trial", class_="gap")
    shown = one_step(step, side.timeline, origins(side.card.diagnoses), 600)
    return tag("ol", Markup(shown.replace(f'id="step-{step.index}" ', "")), class_="turn")


def _unlike(error: UsageError | NotMeasured, before: RunManifest | None, after: RunManifest) -> Iterator[Markup]:
    """Runs whose difference would say nothing: the conditions are shown all the same."""
    yield tag("p", f"The runs cannot be compared: {error.message}", class_="alert")
    if error.remedy:
        yield tag("p", error.remedy, class_="prose")
    if before is not None:
        yield _conditions(differences(before, after))


def _conditions(found: Sequence[ManifestDifference]) -> Markup:
    rows = [
        row(words(one.field), *(bounded(str(text or "")) for text in (one.before, one.after, one.note)))
        for one in found
    ]
    if not rows:
        return tag("p", "The conditions of the runs are the same.", class_="empty")
    return fragment(
        tag("h2", "Conditions"), table(("what", "before", "after", "note"), rows, caption="Conditions that differ")
    )


PAGES = PageSet(
    shows={"/compare": compare, "/compare/{before}/{after}/{case}/{attempt}": pair},
    entry=("Compare", "Comparison", "/compare"),
)
