"""A table, independent of the rendering."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from harness.judging.rubrics import MIN_COVERAGE
from harness.judging.verdicts import JudgeIdentity
from harness.reports.change import MetricChange
from harness.reports.divergence import CaseDivergence, RunDivergence
from harness.reports.durations import Spread
from harness.reports.figures import BrokenRule, ToolRow
from harness.reports.judged_figures import CriterionFigures, JudgedRubric
from harness.reports.margin import MarginCheck, margin_words
from harness.reports.render.wording import own_metrics_first, share
from harness.reports.replay import RecordedCassette
from harness.reports.summary import Summary, TrialGroup
from harness.reports.trend import AgentTrend, JudgedPoint, Trend, TrendLine, TrendPoint
from harness.reports.units import (
    UNKNOWN,
    dollars,
    figure,
    figure_between,
    p_words,
    percent,
    percent_between,
    points_between,
    seconds,
    signed_figure,
    signed_points,
)
from harness.reports.units import chance as chance_words
from harness.scoring.registry import METRICS
from harness.scoring.scorecard import MODES, SUCCESS
from harness.scoring.statistics.correction import Corrected

if TYPE_CHECKING:
    from harness.reports.compare import Comparison


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of texts: the first column names the row, the others are figures; `notes` are printed below."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    key: str = ""
    """What its rows are, where pages link each to its trials."""


# Judgements as a table: domains, then criteria.

_JUDGED_COLUMNS = ("rate", "corrected", "pass", "fail", "n/a", "no answer", "points", "")


def judged_section(judged: JudgedRubric) -> Section:
    """The rubric's criteria under their domains."""
    rows: list[tuple[str, ...]] = []
    for domain in judged.domains:
        blanks = ("",) * 5
        rows.append((domain.domain, percent(domain.mean), *blanks, f"weight {domain.weight:g}", ""))
        rows += [_judged_row(one) for one in judged.criteria if one.domain == domain.domain]
    return Section(
        title=f"judged by {judged.rubric}",
        heads=("criterion", *_JUDGED_COLUMNS),
        rows=tuple(rows),
        notes=tuple(_judged_notes(judged)),
        key=judged.rubric,
    )


def _judged_row(one: CriterionFigures) -> tuple[str, ...]:
    marks = [word for word, holds in (("critical", one.critical), ("uncertified", one.uncertified)) if holds]
    counts = (one.passed, one.failed, one.not_eligible, one.judge_failed)
    shown = (str(count or UNKNOWN) for count in counts)
    rates = (percent(one.rate), corrected_words(one.corrected))
    return (f"  {one.criterion}", *rates, *shown, f"{one.points:g}", ", ".join(marks))


def corrected_words(one: Corrected | None) -> str:
    """A corrected share with its interval."""
    if one is None or one.share is None:
        return UNKNOWN
    return f"{percent(one.share)} ({percent_between(one.interval)})"


def _judged_notes(judged: JudgedRubric) -> list[str]:
    score = _score(judged)
    passed = f"no critical failure in {percent(judged.pass_rate)} {percent_between(judged.pass_interval)}".rstrip()
    notes = [f"{score}; {passed}; {judged.trials} trials, coverage {percent(judged.coverage)}"]
    if judged.below_floor and judged.mean is not None:
        notes.append(
            f"{judged.below_floor} of {judged.trials} trials have no score: fewer than {percent(MIN_COVERAGE)} "
            "of their criteria were answered"
        )
    notes += [f"judge: {judge_words(judge)}" for judge in judged.judges]
    reasons: dict[str, list[str]] = {}
    for one in judged.criteria:
        if one.uncertified is not None:
            reasons.setdefault(one.uncertified, []).append(one.criterion)
    notes += [f"uncertified: {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    notes += [
        f"{one.criterion} is not corrected for the judge's errors: {one.corrected.refused}"
        for one in judged.criteria
        if one.corrected is not None and one.corrected.refused is not None
    ]
    return notes


def _score(judged: JudgedRubric) -> str:
    if judged.mean is not None:
        shown = f"score {percent(judged.mean)} {percent_between(judged.interval)}".rstrip()
        before = judged.mean_before_critical
        return shown if before == judged.mean else f"{shown}, {percent(before)} before critical failures made it 0"
    if judged.below_floor:
        return f"score unknown: coverage {percent(judged.coverage)} is below the floor of {percent(MIN_COVERAGE)}"
    return "score unknown"


def judge_words(judge: JudgeIdentity) -> str:
    """A judge in a line."""
    prompt = "" if judge.prompt is None else f", prompt {judge.prompt}@{judge.prompt_version}"
    return f"{judge.model}{prompt}" + (f", majority of {judge.samples}" if judge.samples > 1 else "")


# Tables of a summary: parts, metrics.


def metrics_of(parts: Sequence[TrialGroup]) -> list[str]:
    """The metrics that a trial of a part knows, the suite's own first."""
    return own_metrics_first(list(dict.fromkeys(one.metric for part in parts for one in part.figures if one.n)))


def part_section(kind: str, parts: Sequence[TrialGroup], metrics: Sequence[str]) -> Section:
    """The trials by category."""
    rows = tuple(
        (
            part.name.replace("_", " "),
            str(part.trials),
            share(part.success),
            percent(part.success.rate),
            percent_between(part.success.interval),
            *(figure(name, part.mean(name)) for name in metrics),
        )
        for part in parts
    )
    return Section(title=f"by {kind}", heads=(kind, "trials", "passed", "%", "95 %", *metrics), rows=rows)


def metric_section(summary: Summary) -> Section:
    """The mean of each metric that is known or the suite's own."""
    known = {one.metric: one for one in summary.figures}
    shown = [one for one in own_metrics_first(list(known)) if known[one].n or one not in METRICS]
    of = f" of {summary.counts.measured}"
    rows = [
        (one, figure(one, known[one].mean), figure_between(one, known[one].interval), f"{known[one].n}{of}")
        for one in shown
    ]
    missing = [one.replace("_", " ") for one in known if one not in shown] if summary.counts.measured else []
    notes = (f"known for no trial: {', '.join(missing)}",) if missing else ()
    return Section(title="by metric", heads=("metric", "mean", "95 %", "known for"), rows=tuple(rows), notes=notes)


# Tables that are the same in every rendering: failure modes, tools, reliability, latency.


def figure_sections(summary: Summary, metrics: Sequence[str] | None = None) -> tuple[Section, ...]:
    """All tables of a summary; `metrics`: those of the parts, if not all."""
    chosen = metrics_of(summary.categories) if metrics is None else metrics
    parts = (
        part_section("category", summary.categories, chosen),
        metric_section(summary),
    )
    return (*(one for one in parts if one.rows), *sections(summary))


def sections(summary: Summary) -> tuple[Section, ...]:
    """The sections with content."""
    found = (
        _failed_code(summary),
        _failure_modes(summary),
        broken_section(summary.broken_rules),
        _tools(summary),
        _models(summary),
        _reliability(summary),
        _latency(summary),
    )
    judged = tuple(judged_section(one) for one in summary.judged)
    return (*judged, *(section for section in found if section.rows))


def _failed_code(summary: Summary) -> Section:
    """Code of the suite that raised, first: figures are missing for its sake."""
    rows = tuple(
        (f"{one.kind} {one.name}", str(one.trials) if one.trials else UNKNOWN, one.raised)
        for one in summary.failed_code
    )
    return Section(title="metrics and checks that failed themselves", heads=("what", "trials", "raised"), rows=rows)


_CASES = 10
"""Cases that are listed by name."""


def _failure_modes(summary: Summary) -> Section:
    rows = tuple(
        (
            mode.failure.replace("_", " "),
            str(mode.trials),
            percent(mode.trials / mode.measured if mode.measured else None),
            str(mode.failed_trials),
            ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in mode.kinds.items()),
        )
        for mode in summary.failure_modes
    )
    notes = tuple(f"{mode.failure.replace('_', ' ')}: {mode.examples[0]}" for mode in summary.failure_modes)
    silent = MODES - {mode.failure for mode in summary.failure_modes}
    if silent:
        notes += (f"not measured without a judge: {', '.join(sorted(silent)).replace('_', ' ')}",)
    return Section(title="failure modes", heads=("mode", "trials", "share", "failed", "kinds"), rows=rows, notes=notes)


_MOST_RULES = 12
"""Broken rules that are listed."""


def broken_section(broken: Sequence[BrokenRule]) -> Section:
    """The learned rules that trials broke, with support and place."""
    rows = tuple(
        (one.rule, f"{one.trials} of {one.tried}", one.support, ", ".join(one.places)) for one in broken[:_MOST_RULES]
    )
    left = len(broken) - _MOST_RULES
    title = "broken rules (a change of behaviour, not a failure by itself)"
    notes = (f"and {left} more: harness explain RUN CASE",) if left > 0 else ()
    return Section(title=title, heads=("rule", "trials", "support", "where"), rows=rows, notes=notes)


_TOOL_HEADS = ("calls", "wrong", "invalid", "errors", "recovered", "faults", "misses", "p50", "p95", "cost")


def _tools(summary: Summary) -> Section:
    rows = tuple((_named(row), *_cells(row)) for row in summary.tools)
    shown = _with_content(("tool", *_TOOL_HEADS), rows)
    notes = tuple(_invalid_words(row) for row in summary.tools if row.invalid)
    return Section(title="tools", heads=shown[0], rows=shown[1], notes=notes)


def _models(summary: Summary) -> Section:
    rows = tuple((_named(row), *_cells(row)) for row in summary.models)
    shown = _with_content(("model", "tool calls", *_TOOL_HEADS[1:]), rows)
    notes = tuple(_invalid_words(row) for row in summary.models if row.invalid)
    return Section(title="tool calls by model", heads=shown[0], rows=shown[1], notes=notes)


def _named(row: ToolRow) -> str:
    return f"({row.others:,} {row.name})" if row.others else row.name


def _cells(row: ToolRow) -> tuple[str, ...]:
    counts = (row.calls, row.wrong, row.invalid_calls, row.errors, row.recovered, row.faults, row.misses)
    return (*(str(count or UNKNOWN) for count in counts), *_seconds(row.latency), dollars(row.cost_usd))


def _with_content(
    heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Removes the columns without content."""
    kept = [place for place in range(len(heads)) if place < 2 or any(row[place] != UNKNOWN for row in rows)]
    return tuple(heads[place] for place in kept), tuple(tuple(row[place] for place in kept) for row in rows)


def _invalid_words(row: ToolRow) -> str:
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in row.invalid.items())
    return f"{row.name}: invalid arguments: {kinds}"


def _reliability(summary: Summary) -> Section:
    rows = tuple(
        (
            f"k = {one.k}",
            percent(one.at_least_one),
            percent_between(one.at_least_one_interval),
            percent(one.all_of_them),
            percent_between(one.all_of_them_interval),
            str(one.cases),
        )
        for one in summary.reliability
    )
    heads = ("of k attempts", "pass@k: one", "95 %", "pass^k: all", "95 %", "cases")
    cases = [f"{one.case_id} {one.successes}/{one.trials}" for one in summary.unsteady]
    more = f" and {len(cases) - _CASES} more" if len(cases) > _CASES else ""
    notes = (f"some attempts pass and others do not: {', '.join(cases[:_CASES])}{more}",) if cases else ()
    return Section(title="reliability", heads=heads, rows=rows, notes=notes)


def _latency(summary: Summary) -> Section:
    rows = tuple((name, str(spread.n), *_seconds(spread)) for name, spread in _spreads(summary))
    return Section(title="latency", heads=("live answers", "n", "p50", "p95"), rows=rows)


def _spreads(summary: Summary) -> Iterator[tuple[str, Spread]]:
    latency = summary.latency
    if latency is not None:
        for name, spread in (("first token", latency.first_token), ("turn", latency.turn), ("trial", latency.trial)):
            if spread is not None:
                yield name, spread


def _seconds(spread: Spread | None) -> tuple[str, str]:
    return (UNKNOWN, UNKNOWN) if spread is None else (seconds(spread.p50_ms / 1000), seconds(spread.p95_ms / 1000))


# Describes the changes of the cassettes that a run recorded.


def recorded_lines(summary: Summary) -> list[str]:
    """A line for each cassette, followed by the calls that were not recorded and the reasons, then what the rules of
    `ignore` found; empty where nothing was recorded.
    """
    found = Counter[str]()
    for one in summary.recorded:
        found.update(one.ignored)
    lines = [line for one in summary.recorded for line in _lines(one, summary.manifest.suite)]
    return lines + [f"{rule}: found in {count or 'none'} of the requests" for rule, count in sorted(found.items())]


def _lines(one: RecordedCassette, suite: str) -> Iterator[str]:
    failed = sum(one.failed.values()) + sum(one.unreadable.values())
    yield (f"cassette {suite}/{one.case}: {one.added} added, {one.kept} kept, {one.replaced} replaced, {failed} failed")
    if one.levelled:
        yield f"  {one.levelled} answers were given from the cassette: the current ones differ only in values"
    if one.failed:
        calls = ", ".join(f"{tool} ({count})" for tool, count in one.failed.items())
        yield f"  not recorded, because the connection failed, timed out or the server was busy: {calls}; record again"
    if one.unreadable:
        calls = ", ".join(f"{tool} ({count})" for tool, count in one.unreadable.items())
        yield f"  not recorded, because too large or not in the tool's protocol: {calls}; correct the tool"
    if one.unsettled:
        yield f"  not recorded, because they follow a lost write: {one.unsettled} answers; record again"
    if one.differing:
        tools = ", ".join(one.differing)
        remedy = "" if one.replaced else "; the recorded ones are kept, --refresh replaces them"
        yield f"  the current answers differ from the recorded ones: {tools}{remedy}"


# Parts of a comparison that are the same in every rendering.

NOTATION: Final = (
    "p: exact sign test over cases (metrics and failure modes by Holm, corrected for their number); "
    "?: cannot tell, ? N: N cases would be enough; =: no case changed"
)


def comparison_sections(comparison: "Comparison") -> tuple[Section, ...]:
    """The sections with content."""
    metrics = {change.metric: change for change in comparison.metrics if change.pairs}
    rows = tuple(_change_row(part.name.replace("_", " "), part.success) for part in comparison.categories)
    of_metrics = tuple(_change_row(name, metrics[name]) for name in own_metrics_first(list(metrics)))
    divergence = () if comparison.divergence is None else (_divergence(comparison.divergence),)
    changed = (_changed_failures(comparison), _changed_rules(comparison))
    first = (
        Section(title="passed by category", heads=("category", *_CHANGE_COLUMNS), rows=rows, key="category"),
        Section(title="mean by metric", heads=("metric", *_CHANGE_COLUMNS), rows=of_metrics, key="metric"),
    )
    return (*first, *divergence, *(section for section in changed if section.rows))


def chance(change: MetricChange) -> str:
    """The corrected p-value, if any; undecided changes are marked."""
    return chance_words(change.p if change.p_corrected is None else change.p_corrected)


def verdict_of(change: MetricChange) -> str:
    """The result of the test; see NOTATION."""
    if change.found == "cannot_tell" and change.cases_needed is not None and change.cases_needed > change.cases:
        return f"? {change.cases_needed}"
    return {"better": "better", "worse": "worse", "same": "=", "cannot_tell": "?"}[change.found]


def attribution_lines(comparison: "Comparison") -> Iterator[str]:
    """The attribution of the change, the differences, and the runs that would separate them."""
    yield comparison.attribution.verdict
    for one in comparison.attribution.changed:
        yield f"{one.part}: {one.before} → {one.after}"
    for words in comparison.attribution.unrecorded:
        yield f"not recorded: {words}"
    for words in comparison.attribution.separating:
        yield f"to separate them: {words}"


def margin_lines(checks: Sequence[MarginCheck]) -> Iterator[str]:
    """One line a margin."""
    for check in checks:
        standing = check.standing.replace("_", " ")
        margin = margin_words(check.margin, percent=check.percent)
        yield f"{check.metric} no worse than by {margin}: {standing} ({check.reason})"


def _divergence(found: RunDivergence) -> Section:
    success = found.success
    rows = [
        (one.case_id, f"{one.mocked.successes}/{one.mocked.n}", f"{one.live.successes}/{one.live.n}", cause_words(one))
        for one in found.cases
    ]
    apart = points_between(success.interval)
    differing = f"{len(found.cases)} of {success.pairs} differ"
    return Section(
        title="replayed and live: successes, and causes of differences",
        heads=("case", "mocked", "live", "down to"),
        rows=(("all cases", percent(success.before), percent(success.after), differing), *rows),
        notes=(
            f"live ({found.live_run}) less mocked ({found.mocked_run}): {signed_points(success.difference)}"
            + (f" (95 %: {apart})" if apart else ""),
            *(f"{one.case_id}: {one.because}" for one in found.cases),
        ),
    )


def cause_words(one: CaseDivergence) -> str:
    """The cause, with the tools that drifted."""
    cause = one.cause.replace("_", " ")
    return f"{cause}: {', '.join(one.tools)}" if one.cause == "tool" else cause


def _changed_failures(comparison: "Comparison") -> Section:
    rows = tuple(_change_row(one.metric.replace("_", " "), one, SUCCESS) for one in comparison.failures)
    return Section(title="failure modes: share of trials", heads=("mode", *_CHANGE_COLUMNS), rows=rows, key="mode")


def _changed_rules(comparison: "Comparison") -> Section:
    rows = tuple(_change_row(one.metric, one, SUCCESS) for one in comparison.rules if one.difference)
    title = "learned rules: share of trials that break them (a change of behaviour, not a failure by itself)"
    return Section(title=title, heads=("rule", *_CHANGE_COLUMNS), rows=rows, key="rule")


_CHANGE_COLUMNS = ("before", "after", "change", "better", "worse", "pairs", "p", "says")


def _change_row(name: str, one: MetricChange, unit: str | None = None) -> tuple[str, ...]:
    """`unit`: the metric whose unit the values have, if not its own."""
    counts = (str(one.better or UNKNOWN), str(one.worse or UNKNOWN), str(one.pairs))
    unit = unit or one.metric
    return (
        name,
        figure(unit, one.before),
        figure(unit, one.after),
        signed_figure(unit, one.difference),
        *counts,
        chance(one),
        verdict_of(one),
    )


# A trend as a table: one row per figure, one column per release, with jumps marked and described below.

MARK = "!"


def trend_sections(trend: Trend, widest: int = 200) -> tuple[Section, ...]:
    """A row for each agent and model, then the figures of each. `widest`: characters of a release's name."""
    passed = Section(
        title="passed, by release (95 %)",
        heads=("agent and model", *(_cut(name, widest) for name in trend.releases)),
        rows=tuple((one.name, *_passed(one, trend.releases)) for one in trend.agents),
        notes=tuple(_left_out(trend)),
    )
    return (passed, *(section for one in trend.agents for section in _of_agent(one, widest) if section.rows))


def _passed(one: AgentTrend, releases: Sequence[str]) -> Iterator[str]:
    line = one.line(SUCCESS)
    points = {} if line is None else {point.release: point for point in line.points}
    for release in releases:
        point = points.get(release)
        if line is None or point is None:
            yield ""
        else:
            ends = point.interval
            between = "" if ends is None else f" ({100 * ends.low:.0f}-{100 * ends.high:.0f})"
            yield f"{_cell(line, point)}{between}"


def _left_out(trend: Trend) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for one in trend.incomplete:
        reasons.setdefault(one.why, []).append(one.run)
    for why, runs in reasons.items():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        yield f"left out, because {why}: {runs[0]}{more}"
    yield from (f"left out, because it cannot be read: {one.run} ({one.problem})" for one in trend.damaged)


def _of_agent(one: AgentTrend, widest: int) -> tuple[Section, ...]:
    heads = tuple(_cut(release.name, widest) for release in one.releases)
    counts = ("trials", *(str(release.trials) for release in one.releases))
    return (
        Section(
            title=f"metrics of {one.name}",
            heads=("mean", *heads),
            rows=(counts, *(row for line in one.lines if line.kind == "metric" for row in _rows(line))),
            notes=_trend_notes(one, "metric"),
        ),
        Section(
            title=f"failure modes of {one.name}",
            heads=("share of trials", *heads),
            rows=tuple(_trend_row(line) for line in one.lines if line.kind == "failure"),
            notes=_trend_notes(one, "failure"),
        ),
        Section(
            title=f"judged criteria of {one.name}",
            heads=("share of passes", *heads),
            rows=tuple((line.name, *map(judged_point_words, line.points)) for line in one.judged),
            notes=("in brackets: corrected for the judge's errors, with the 95 % interval; not tested for jumps",),
        ),
    )


def judged_point_words(point: JudgedPoint | None) -> str:
    """The judge's share of passes, and the corrected one."""
    if point is None:
        return UNKNOWN
    return f"{percent(point.rate)} [{corrected_words(point.corrected)}]"


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _rows(line: TrendLine) -> Iterator[tuple[str, ...]]:
    """The row of a figure; for success also the number of unknown trials."""
    yield _trend_row(line)
    if line.name == SUCCESS and any(point.unknown for point in line.points):
        yield ("  unknown for", *(f"{p.unknown} of {p.n + p.unknown}" if p.unknown else "" for p in line.points))


def _trend_row(line: TrendLine) -> tuple[str, ...]:
    return (
        _name(line),
        *(_cell(line, p) for p in line.points),
    )


def _name(line: TrendLine) -> str:
    return "passed" if line.name == SUCCESS else line.name.replace("_", " ") if line.kind == "failure" else line.name


def _cell(line: TrendLine, point: TrendPoint) -> str:
    if point.value is None:
        return UNKNOWN
    value = percent(point.value) if line.kind == "failure" else figure(line.name, point.value)
    return f"{value} {MARK}" if point.spike else value


def _trend_notes(trend: AgentTrend, kind: str) -> tuple[str, ...]:
    flagged = tuple(_words(line, point) for line, point in trend.spikes if line.kind == kind)
    return (*flagged, *_power(trend, kind))


def _power(trend: AgentTrend, kind: str) -> tuple[str, ...]:
    """The number of worse cases at which the newest release would have been flagged; success represents all metrics."""
    newest = [line.points[-1] for line in trend.lines if line.kind == kind and line.points[-1].level is not None]
    if not newest:
        return ()
    point = newest[0]
    needed = "no number of cases" if point.flags_from is None else f"{point.flags_from} of {point.cases} cases"
    return (
        f"{point.release} is flagged at p <= {chance_words(point.level)}, its share of 5 % over all releases and tests:"
        f" {needed} worse and none better would be flagged",
    )


def _words(line: TrendLine, point: TrendPoint) -> str:
    test = f"{p_words(point.p or 0.0)}, {point.test}, one-sided, corrected for the release's figures"
    return f"{MARK} {_name(line)} is worse in {point.release}: {test}"
