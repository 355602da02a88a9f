"""How a figure is written: one unit for one figure, the same in a terminal, in Markdown, and on pages.

Shares are per cent without decimals, durations seconds, costs US dollars, tokens and steps counts. A suite's own metric
has no known unit: three significant digits.
"""

from collections.abc import Callable
from typing import Final

from harness.scoring.registry import METRICS
from harness.scoring.statistics.intervals import Interval

UNKNOWN: Final = "-"
_SMALLEST: Final = 1e-12
"""A p-value below it is not told from another one: it may have been rounded to 0."""
_ZERO: Final = 5e-13
AMOUNTS: Final = ("cost_usd", "tokens", "latency_s", "steps", "turns")
"""Metrics that are amounts and never shares."""


def chance(p: float | None) -> str:
    """A p-value as a cell."""
    if p is None:
        return UNKNOWN
    return f"< {_SMALLEST:.0e}" if p < _SMALLEST else f"{p:.2g}"


def p_words(p: float) -> str:
    """A p-value in a sentence; it is never 0."""
    words = chance(p)
    return f"p {words}" if words.startswith("<") else f"p = {words}"


def percent(share: float | None) -> str:
    """Only what is complete is 100 %, and only nothing is 0 %."""
    if share is None:
        return UNKNOWN
    if 0.995 <= share < 1:
        return "> 99 %"
    return "< 1 %" if 0 < share <= 0.005 else f"{100 * share:.0f} %"


def signed_percent(share: float | None) -> str:
    """A change as a share of the value before."""
    if share is None:
        return UNKNOWN
    whole = round(100 * share)
    return f"{whole:+d} %" if whole else "0 %"


def signed_points(value: float | None) -> str:
    """Percentage points."""
    if value is None:
        return UNKNOWN
    points = round(100 * value)
    return f"{points:+d} pt" if points else "0"


def percent_between(interval: Interval | None) -> str:
    return "" if interval is None else f"{100 * interval.low:.0f} to {100 * interval.high:.0f} %"


def points_between(interval: Interval | None) -> str:
    """The ends of an interval of a difference, in its unit."""
    return "" if interval is None else f"{signed_points(interval.low)} to {signed_points(interval.high)}"


def number(value: float | None) -> str:
    """A coefficient, such as kappa."""
    return UNKNOWN if value is None else f"{value:.2f}"


def dollars(amount: float | None) -> str:
    """US dollars: two decimals, or three significant digits of less than a dollar."""
    if amount is None:
        return UNKNOWN
    return f"{amount:.2f} USD" if abs(amount) >= 1 else f"{_digits(amount, 3)} USD"


def _digits(value: float, most: int) -> str:
    """Significant digits, without an exponent if a reader can count the zeros."""
    short = f"{value:.{most}g}"
    return short if "e" not in short or abs(value) < 1e-6 else f"{float(short):.12f}".rstrip("0").rstrip(".")


def seconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:.0f} s" if abs(value) >= 100 else f"{_digits(value, 3)} s"


def count(value: float | None) -> str:
    """A mean of counts, such as tokens: a thousand and more without decimals."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 else _digits(value, 3)


def is_share(metric: str) -> bool:
    """Whether it is written as per cent: the built-in metrics that are no amounts, and the figures of rubrics."""
    return "/" in metric or (metric in METRICS and metric not in AMOUNTS)


def _unit(metric: str) -> Callable[[float | None], str]:
    if is_share(metric):
        return percent
    if metric.endswith("_usd"):
        return dollars
    return seconds if metric.endswith("_s") else count


def figure(metric: str, value: float | None) -> str:
    """A metric's value with its unit."""
    return _unit(metric)(value)


def told_apart(metric: str, value: float, other: float) -> tuple[str, str]:
    """Both values, with as many decimals as tell them apart."""
    shown = figure(metric, value), figure(metric, other)
    if is_share(metric):
        for decimals in range(1, 6):
            if shown[0] != shown[1] and shown[0][0] not in "<>":
                break
            shown = f"{100 * value:.{decimals}f} %", f"{100 * other:g} %"
    return shown if value == other or shown[0] != shown[1] else (repr(value), repr(other))


def figure_between(metric: str, interval: Interval | None) -> str:
    """The ends of an interval of the metric."""
    if interval is None:
        return ""
    if is_share(metric):
        return percent_between(interval)
    low, high = figure(metric, interval.low), figure(metric, interval.high)
    number, _, unit = low.partition(" ")
    return f"{number if unit else low} to {high}"


def signed_figure(metric: str, value: float | None) -> str:
    """A difference of the metric with its sign."""
    if is_share(metric):
        return signed_points(value)
    if value is None:
        return UNKNOWN
    words = figure(metric, abs(value))
    return "0" if abs(value) < _ZERO else f"{'+' if value > 0 else '-'}{words}"
