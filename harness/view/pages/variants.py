"""Forks and other trials with one change: of which trial each is a variant, at which step, and what was changed."""

from collections.abc import Iterator

from harness.results import RunManifest
from harness.view.asking import Ask, Page, PageSet
from harness.view.index.run_index import RunEntry
from harness.view.markup import Markup, fragment, tag
from harness.view.tables import pager, pages_of, row, table
from harness.view.trial.texts import folded_value
from harness.view.wording import bounded, rate_words, run_link, when

_PER_PAGE = 50
_VARIANTS = 5


def variants(ask: Ask) -> Page:
    """`/forks`."""
    found = ask.project.index.variants()
    pages = pages_of(len(found), _PER_PAGE)
    number = ask.number("page", most=pages)
    rows = [_row(ask, one) for one in found[(number - 1) * _PER_PAGE : number * _PER_PAGE]]
    heads = ("run", "suite", "made", "#trials", "#success", "what was changed")
    shown = table(heads, rows, caption="Forks and variants", class_="plain list")
    nothing = fragment(
        tag("p", "There is no fork yet. ", tag("code", "harness fork RUN CASE --at STEP"), class_="empty")
    )
    body = fragment(tag("h1", "Forks"), shown if rows else nothing, pager(number, pages, "/forks", ask.query))
    return Page(title="Forks", body=body, section="Forks")


def _row(ask: Ask, entry: RunEntry) -> Markup:
    manifest = entry.manifest
    if manifest is None:
        return row(entry.name, tag("span", bounded(entry.problem or ""), class_="bad"))
    figures = ask.project.index.figures_within([entry.name], 0.5).get(entry.name)
    counted = ("…", "…")
    if figures is not None and not isinstance(figures, str):
        counted = (f"{figures.done} of {figures.planned}", rate_words(figures.rate, figures.unknown, figures.done))
    changed = fragment(*_changed(manifest))
    return row(run_link(entry.name), manifest.suite, when(manifest.created), *counted, changed)


def _changed(manifest: RunManifest) -> Iterator[Markup]:
    for one in manifest.variants[:_VARIANTS]:
        yield folded_value(
            f"{one.case_id} / {one.attempt}", one.variant.model_dump(mode="json", exclude_none=True), 4000
        )
    if len(manifest.variants) > _VARIANTS:
        yield tag("p", f"{len(manifest.variants) - _VARIANTS} more", class_="dim")


PAGES = PageSet(shows={"/forks": variants}, entry=("Forks", "/forks"))
