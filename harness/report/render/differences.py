"""The parts of a comparison after its first tables, in sentences and tables that are the same in every rendering."""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from harness.report.change import MetricChange
from harness.report.compare import Comparison, SliceKind
from harness.report.divergence import CaseDivergence, Divergence
from harness.report.margin import MarginCheck
from harness.report.render.section import Section
from harness.report.render.wording import UNKNOWN, percent, percent_between, signed_points

NOTATION: Final = (
    "p: exact sign test over cases (metrics and failure modes by Holm, corrected for their number); "
    "?: cannot tell, ? N: N cases would; =: no case changed"
)


def comparison_sections(comparison: Comparison) -> tuple[Section, ...]:
    """Those that have something to show."""
    found = [_slice(kind, comparison) for kind in get_args(SliceKind)]
    beside = () if comparison.divergence is None else (_divergence(comparison.divergence),)
    return (*beside, *(section for section in (_failures(comparison), *found) if section.rows))


def chance(change: MetricChange) -> str:
    """The corrected p-value where there is one; undecided changes are marked."""
    p = change.p if change.p_corrected is None else change.p_corrected
    return UNKNOWN if p is None else f"{p:.2g}"


def told(change: MetricChange) -> str:
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
        yield f"would separate them: {words}"


def margin_lines(checks: Sequence[MarginCheck]) -> Iterator[str]:
    """One line a margin, and one for each version's noise floor."""
    for check in checks:
        standing = check.standing.replace("_", " ")
        yield f"{check.metric} no worse than by {check.margin:g}: {standing} ({check.reason})"
        for noise in check.noise:
            if noise.range is None:
                yield f"  noise floor of {noise.version}: not known; repeat it (--trials, or the same run again)"
            else:
                yield f"  noise floor of {noise.version}: {noise.range:.3g} over {noise.repetitions} repetitions"


def _divergence(found: Divergence) -> Section:
    success = found.success
    rows = [
        (one.case_id, f"{one.mocked.successes}/{one.mocked.n}", f"{one.live.successes}/{one.live.n}", cause_words(one))
        for one in found.cases
    ]
    apart = percent_between(success.interval)
    differing = f"{len(found.cases)} of {success.pairs} differ"
    return Section(
        title="mocked beside live: successes, and what a difference is down to",
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
        told(one),
    )
