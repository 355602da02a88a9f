"""Figures and marks as the pages word them."""

from harness.report import percent, percent_between
from harness.stats import Interval
from harness.view.markup import Markup, link, path_of, tag

UNKNOWN = "-"


def share_words(share: float | None) -> str:
    return percent(share)


def rate_words(rate: float | None, unknown: int, trials: int) -> str:
    """A rate of success with the share of trials that it leaves out."""
    return share_words(rate) + (f" (unknown for {unknown} of {trials})" if unknown else "")


def interval_words(interval: Interval | None) -> str:
    return percent_between(interval)


def money(cost: float | None) -> str:
    if cost is None:
        return UNKNOWN
    return f"{cost:.2f} USD" if cost >= 1 else f"{cost:.4f} USD"


def words(name: str) -> str:
    """A name of a closed vocabulary as words."""
    return name.replace("_", " ")


def when(created: str) -> str:
    """A time of ISO 8601 to the minute."""
    return created[:16].replace("T", " ")


def success_mark(success: bool | None, outcome: str = "finished") -> Markup:
    """By word and colour, never by colour alone."""
    if success is True:
        return tag("span", "✓ passed", class_="mark good")
    if success is False:
        return tag("span", "✗ failed", class_="mark bad")
    return tag("span", f"? {words(outcome) if outcome != 'finished' else 'unknown'}", class_="mark open")


def chip(text: str, kind: str = "") -> Markup:
    return tag("span", text, class_=f"chip {kind}".strip())


def run_link(name: str, *, shown: str | None = None) -> Markup:
    return link(path_of("runs", name), shown or name)


def trial_path(run: str, case_id: str, attempt: int) -> str:
    return path_of("runs", run, "trials", case_id, attempt)


def bounded(text: str, most: int = 400) -> str:
    """At most this many characters of a text that anybody may have written."""
    return text if len(text) <= most else text[: most - 1] + "…"
