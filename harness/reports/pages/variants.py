"""Forks and other trials with one change: of which trial each is a variant, at which step, and what was changed."""

from collections.abc import Iterator

from harness.reports.pages.markup import (
    Markup,
    bounded,
    empty,
    folded_value,
    fragment,
    link,
    path_of,
    rate_words,
    row,
    run_link,
    table,
    tag,
    trial_path,
    when,
    whole_number,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunEntry
from harness.runs.store.manifest import RunManifest, VariedTrial

_PER_PAGE = 50
_VARIANTS = 5


def variants(ask: Ask) -> Page:
    """`/forks`."""
    found, beside = ask.part(ask.project.index.variants(), "/forks", _PER_PAGE)
    heads = ("run", "suite", "made", "#trials", "#success", "what was changed")
    listed = table(heads, [_row(ask, one) for one in found], caption="Forks and variants", class_="plain list")
    nothing = empty("There is no fork yet.", "harness fork RUN CASE --at STEP", "makes one.")
    return Page.of("Forks", listed if found else nothing, beside, section="Forks")


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
    if len(parts) != 3 or (attempt := whole_number(parts[2])) is None:
        return
    run, case_id = parts[:2]
    links = [link(trial_path(run, case_id, attempt), f"of {bounded(one.variant.parent or '', 200)}")]
    if (case_id, attempt) == (one.case_id, one.attempt):
        links.append(link(path_of("compare", run, name, case_id, attempt), "side by side"))
    yield tag("p", *(fragment(one, " ") for one in links))


PAGES = PageSet(shows={"/forks": variants}, entry=("Improve", "Forks", "/forks"))
