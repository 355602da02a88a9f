"""Forks and other trials with one change: of which trial each is a variant, at which step, and what was changed."""

from collections.abc import Iterator

from harness.reports.pages.markup import (
    Markup,
    bounded,
    folded_value,
    fragment,
    link,
    pager,
    pages_of,
    path_of,
    rate_words,
    row,
    run_link,
    table,
    tag,
    trial_path,
    when,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunEntry
from harness.runs.store.manifest import RunManifest, VariedTrial

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
    changed = fragment(*_changed(entry.name, manifest))
    return row(run_link(entry.name), manifest.suite, when(manifest.created), *counted, changed)


def _changed(name: str, manifest: RunManifest) -> Iterator[Markup]:
    for one in manifest.variants[:_VARIANTS]:
        yield from _parent(name, one)
        yield folded_value(
            f"{one.case_id} / {one.attempt}", one.variant.model_dump(mode="json", exclude_none=True), 4000
        )
    if len(manifest.variants) > _VARIANTS:
        yield tag("p", f"{len(manifest.variants) - _VARIANTS} more", class_="dim")


def _parent(name: str, one: VariedTrial) -> Iterator[Markup]:
    """The trial that it is a variant of, and both side by side where they are attempts of one number."""
    parts = (one.variant.parent or "").split("/")
    if len(parts) != 3 or not (parts[2].isascii() and parts[2].isdecimal() and len(parts[2]) < 9):
        return
    run, case_id, attempt = parts[0], parts[1], int(parts[2])
    links = [link(trial_path(run, case_id, attempt), f"of {bounded(one.variant.parent or '', 200)}")]
    if (case_id, attempt) == (one.case_id, one.attempt):
        links.append(link(path_of("compare", run, name, case_id, attempt), "side by side"))
    yield tag("p", *(fragment(one, " ") for one in links))


PAGES = PageSet(shows={"/forks": variants}, entry=("Improve", "Forks", "/forks"))
