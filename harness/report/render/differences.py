"""Parts of a comparison that are the same in every rendering."""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from harness.report.comparison.change import MetricChange
from harness.report.comparison.compare import Comparison, SliceKind
from harness.report.comparison.divergence import CaseDivergence, RunDivergence
from harness.report.comparison.margin import MarginCheck, margin_words
from harness.report.render.section import Section
from harness.report.render.wording import UNKNOWN, percent, percent_between, signed_points

NOTATION: Final = (
    "p: exact sign test over cases (metrics and failure modes by Holm, corrected for their number); "
    "?: cannot tell, ? N: N cases would be enough; =: no case changed"
)


def comparison_sections(comparison: Comparison) -> tuple[Section, ...]:
    """The sections with content."""
    found = [_slice(kind, comparison) for kind in get_args(SliceKind)]
    divergence = () if comparison.divergence is None else (_divergence(comparison.divergence),)
    return (*divergence, *(section for section in (_failures(comparison), *found) if section.rows))


def chance(change: MetricChange) -> str:
    """The corrected p-value, if any; undecided changes are marked."""
    p = change.p if change.p_corrected is None else change.p_corrected
    return UNKNOWN if p is None else f"{p:.2g}"


def verdict_of(change: MetricChange) -> str:
    """The result of the test; see NOTATION."""
    if change.found == "cannot_tell" and change.cases_needed is not None and change.cases_needed > change.cases:
        return f"? {change.cases_needed}"
    return {"better": "better", "worse": "worse", "same": "=", "cannot_tell": "?"}[change.found]


def attribution_lines(comparison: Comparison) -> Iterator[str]:
    """The attribution of the change, the differences, and the runs that would separate them."""
    yield comparison.attribution.verdict
    for one in comparison.attribution.changed:
        yield f"{one.part}: {one.before} → {one.after}"
    for words in comparison.attribution.separating:
        yield f"to separate them: {words}"


def margin_lines(checks: Sequence[MarginCheck]) -> Iterator[str]:
    """One line a margin, and one for each version's noise floor."""
    for check in checks:
        standing = check.standing.replace("_", " ")
        margin = margin_words(check.margin, percent=check.percent)
        yield f"{check.metric} no worse than by {margin}: {standing} ({check.reason})"
        for noise in check.noise:
            if noise.range is None:
                yield f"  noise floor of {noise.version}: not known; repeat it (--trials, or the same run again)"
            else:
                yield f"  noise floor of {noise.version}: {noise.range:.3g} over {noise.repetitions} repetitions"


def _divergence(found: RunDivergence) -> Section:
    success = found.success
    rows = [
        (one.case_id, f"{one.mocked.successes}/{one.mocked.n}", f"{one.live.successes}/{one.live.n}", cause_words(one))
        for one in found.cases
    ]
    apart = percent_between(success.interval)
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


def _failures(comparison: Comparison) -> Section:
    rows = tuple(_row(one.metric.replace("_", " "), one) for one in comparison.failures)
    return Section(title="failure modes: share of trials", heads=("mode", *_HEADS), rows=rows)


def _slice(kind: SliceKind, comparison: Comparison) -> Section:
    rows = tuple(_row(one.name, one.success) for one in comparison.slices if one.kind == kind)
    return Section(title=f"success by {kind}", heads=(kind, *_HEADS), rows=rows)


_HEADS = ("before", "after", "change", "better", "worse", "pairs", "p", "says")


def _row(name: str, one: MetricChange) -> tuple[str, ...]:
    counts = (str(one.better or UNKNOWN), str(one.worse or UNKNOWN), str(one.pairs))
    return (
        name,
        percent(one.before),
        percent(one.after),
        signed_points(one.difference),
        *counts,
        chance(one),
        verdict_of(one),
    )
