"""A comparison as a comment on a pull request: the deciding figures first, all other parts folded."""

from collections.abc import Iterator, Sequence

from harness.report.comparison.change import LATENCY, MetricChange
from harness.report.comparison.compare import Comparison
from harness.report.comparison.margin import MarginCheck
from harness.report.render.differences import margin_lines
from harness.report.render.markdown import plain, table_head, table_row
from harness.report.render.markdown_comparison import comparison_markdown
from harness.report.render.wording import UNKNOWN, percent, percent_between, signed, signed_points

_FIGURES = {
    "task_success": "success",
    "cost_usd": "cost, US$",
    "tokens": "tokens",
    LATENCY: "latency, s",
    "steps": "steps",
}
_MOST_CASES = 20


def comment_markdown(comparison: Comparison, checks: Sequence[MarginCheck]) -> str:
    """Success, cost, tokens, latency and steps with paired intervals; the gates; the cases that changed.

    The column `trials` gives the trials in which a figure is known in both runs, of those that the later run planned.
    """
    return "\n".join(_lines(comparison, checks)) + "\n"


def _lines(comparison: Comparison, checks: Sequence[MarginCheck]) -> Iterator[str]:
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
    yield from ["", "<details><summary>Complete comparison</summary>", ""]
    yield comparison_markdown(comparison)
    yield "</details>"


def _found(comparison: Comparison, metric: str) -> MetricChange | None:
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
