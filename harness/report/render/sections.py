"""Tables that are the same in every rendering: failure modes, tools, reliability, latency."""

from collections.abc import Iterator, Sequence

from harness.report.figures.latency import Spread
from harness.report.figures.summary import Summary
from harness.report.figures.tooltable import ToolRow
from harness.report.render.judged import judged_section
from harness.report.render.section import Section
from harness.report.render.wording import ENCODINGS, UNKNOWN, percent, percent_between


def sections(summary: Summary) -> tuple[Section, ...]:
    """The sections with content."""
    found = (
        _failed_code(summary),
        _failures(summary),
        _tools(summary),
        _models(summary),
        _reliability(summary),
        *_sweep(summary),
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


def _failures(summary: Summary) -> Section:
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
    return Section(title="failure modes", heads=("mode", "trials", "share", "failed", "kinds"), rows=rows, notes=notes)


_TOOL_HEADS = ("calls", "wrong", "invalid", "errors", "recovered", "faults", "misses", "p50 ms", "p95 ms", "$")


def _tools(summary: Summary) -> Section:
    rows = tuple((_named(row), *_cells(row)) for row in summary.tools)
    shown = _with_content(("tool", *_TOOL_HEADS), rows)
    notes = tuple(_invalid_words(row) for row in summary.tools if row.invalid)
    if not summary.models:
        notes += tuple(_encoding_words(row) for row in summary.tools if row.encodings)
    return Section(title="tools", heads=shown[0], rows=shown[1], notes=notes)


def _models(summary: Summary) -> Section:
    rows = tuple((_named(row), *_cells(row)) for row in summary.models)
    shown = _with_content(("model", "tool calls", *_TOOL_HEADS[1:]), rows)
    notes = tuple(_invalid_words(row) for row in summary.models if row.invalid)
    notes += tuple(_encoding_words(row) for row in summary.models if row.encodings)
    return Section(title="tool calls by model", heads=shown[0], rows=shown[1], notes=notes)


def _named(row: ToolRow) -> str:
    return f"({row.others:,} {row.name})" if row.others else row.name


def _cells(row: ToolRow) -> tuple[str, ...]:
    counts = (row.calls, row.wrong, row.invalid_calls, row.errors, row.recovered, row.faults, row.misses)
    cost = UNKNOWN if row.cost_usd is None else f"{row.cost_usd:.4f}"
    return (*(str(count or UNKNOWN) for count in counts), *_milliseconds(row.latency), cost)


def _with_content(
    heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Removes the columns without content."""
    kept = [place for place in range(len(heads)) if place < 2 or any(row[place] != UNKNOWN for row in rows)]
    return tuple(heads[place] for place in kept), tuple(tuple(row[place] for place in kept) for row in rows)


def _invalid_words(row: ToolRow) -> str:
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in row.invalid.items())
    return f"{row.name}: invalid arguments: {kinds}"


def _encoding_words(row: ToolRow) -> str:
    kinds = ", ".join(f"{count} {ENCODINGS[kind]}" for kind, count in row.encodings.items())
    share = percent(sum(row.encodings.values()) / row.calls)
    return f"{row.name}: argument encoding wrong in {share} of calls: {kinds}"


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
    return Section(title="reliability", heads=heads, rows=rows)


def _sweep(summary: Summary) -> Iterator[Section]:
    """Components of variance, deciding cases, and the number of trials for a comparison."""
    found = summary.sweep
    if found is None:
        return
    share = found.variance.share_between
    rows = (
        ("between cases", f"{found.variance.between_cases:.4f}", percent(share)),
        (
            "between trials of a case",
            f"{found.variance.within_cases:.4f}",
            percent(None if share is None else 1 - share),
        ),
    )
    agree = found.variance.within_cases == 0
    notes = [f"{found.always} of {found.cases} cases always succeed, {found.never} never"]
    notes += ["trials of a case always agree: only more cases add information"] if agree else []
    yield Section(title="variance of success", heads=("where", "variance", "share"), rows=rows, notes=tuple(notes))
    deciding = found.deciding
    yield Section(
        title="deciding cases",
        heads=("case", "success", "share of the variance between trials"),
        rows=tuple((one.case_id, f"{one.successes}/{one.trials}", percent(one.share)) for one in deciding[:_CASES]),
        notes=(f"and {len(deciding) - _CASES} more",) if len(deciding) > _CASES else (),
    )
    needed = tuple(
        (f"{one.difference:.2f}", str(one.trials), f"{one.more} more" if one.more else "enough") for one in found.needed
    )
    yield Section(
        title="trials to distinguish two agents",
        heads=("difference", "trials per case", "here"),
        rows=() if agree else needed,
    )


def _latency(summary: Summary) -> Section:
    rows = tuple((name, str(spread.n), *_milliseconds(spread)) for name, spread in _spreads(summary))
    return Section(title="latency", heads=("live answers", "n", "p50 ms", "p95 ms"), rows=rows)


def _spreads(summary: Summary) -> Iterator[tuple[str, Spread]]:
    latency = summary.latency
    if latency is not None:
        for name, spread in (("first token", latency.first_token), ("turn", latency.turn), ("trial", latency.trial)):
            if spread is not None:
                yield name, spread


def _milliseconds(spread: Spread | None) -> tuple[str, str]:
    return (UNKNOWN, UNKNOWN) if spread is None else (f"{spread.p50_ms:.0f}", f"{spread.p95_ms:.0f}")
