"""All runs of the project: listed, filtered and tagged."""

from collections.abc import Sequence

from harness.reports.pages.markup import (
    UNKNOWN,
    Markup,
    bounded,
    chip,
    choice,
    empty,
    filters,
    fragment,
    interval_words,
    link,
    money,
    pager,
    pages_of,
    path_of,
    rate_words,
    run_link,
    search,
    table,
    tag,
    when,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunEntry, RunFigures
from harness.runs.store.beside_trials import set_tags, tags_of
from harness.runs.store.manifest import RunManifest

_PER_PAGE = 50
_WITHIN_S = 0.12
"""For the figures of one page; runs that were not counted by then are filled in by the page's program."""
_HEADS = ("run", "suite", "agent", "release", "tools", "#trials", "#success", "#95 %", "#cost", "most frequent failure")
_FIELDS = ("suite", "agent", "release", "tag")


def runs(ask: Ask) -> Page:
    """`/`: filters are parts of the address."""
    everything = ask.project.index.entries()
    tags = {entry.name: _tags(ask, entry) for entry in everything}
    chosen = [entry for entry in everything if _fits(entry, tags[entry.name], ask)]
    pages = pages_of(len(chosen), _PER_PAGE)
    number = ask.number("page", most=pages)
    shown = chosen[(number - 1) * _PER_PAGE : number * _PER_PAGE]
    readable = [entry.name for entry in shown if entry.manifest is not None]
    figures = ask.project.index.figures_within(readable, _WITHIN_S)
    rows = [_row(entry, figures.get(entry.name), tags[entry.name]) for entry in shown]
    count = f"{len(chosen)} of {len(everything)} runs" if len(chosen) != len(everything) else f"{len(chosen)} runs"
    body = fragment(
        tag("div", tag("h1", "Runs"), tag("p", count, class_="count"), class_="title"),
        _filters(ask, everything, tags),
        table(_HEADS, rows, caption="Runs, the newest first", class_="plain list") if rows else _nothing(everything),
        pager(number, pages, "/", ask.query),
    )
    return Page(title="Runs", body=body, section="Runs", modules=("figures.js",))


def figures(ask: Ask) -> Page:
    """`/part/figures/{run}`: the cells of one row that was not counted in time."""
    name = ask.place["run"]
    found = ask.project.index.figures_within([name], 1_000_000)
    return Page(
        title="", body=fragment(*(tag("td", *cell, class_=kind) for kind, cell in _cells(found.get(name)))), part=True
    )


def tag_run(ask: Ask) -> str:
    """Sets the tags of a run to those of the form."""
    name = ask.place["run"]
    folder = ask.project.run(name)
    typed = [text.strip() for text in ask.form.get("tags", "").split(",")]
    set_tags(folder.path, [text for text in typed if text])
    return path_of("runs", name)


def _tags(ask: Ask, entry: RunEntry) -> tuple[str, ...]:
    return () if entry.manifest is None else tags_of(ask.project.index.place(entry.name))


def _fits(entry: RunEntry, tags: Sequence[str], ask: Ask) -> bool:
    asked = {name: ask.query.get(name, "") for name in _FIELDS}
    sought = ask.query.get("q", "").casefold()
    manifest = entry.manifest
    if manifest is None:
        return not any(asked.values()) and sought in entry.name.casefold()
    if asked["tag"] and asked["tag"] not in tags:
        return False
    if any(asked[name] not in ("", getattr(manifest, name) or "") for name in ("suite", "agent", "release")):
        return False
    return sought in f"{entry.name} {manifest.suite} {manifest.agent} {manifest.release} {' '.join(tags)}".casefold()


def _filters(ask: Ask, everything: Sequence[RunEntry], tags: dict[str, tuple[str, ...]]) -> Markup:
    manifests = [entry.manifest for entry in everything if entry.manifest is not None]
    known = {name: sorted({getattr(one, name) for one in manifests} - {None}) for name in ("suite", "agent", "release")}
    known["tag"] = sorted({one for some in tags.values() for one in some})
    choices = [choice(name, name, known[name], ask.query.get(name, "")) for name in _FIELDS if known[name]]
    return filters(search("q", "find", ask.query.get("q", "")), *choices, action="/")


def _row(entry: RunEntry, figures: RunFigures | str | None, tags: Sequence[str]) -> Markup:
    manifest = entry.manifest
    if manifest is None:
        problem = tag("td", tag("span", bounded(entry.problem or "", 300), class_="bad"), colspan=str(len(_HEADS) - 1))
        return tag("tr", tag("th", entry.name, scope="row"), problem)
    made = tag("span", when(manifest.created), class_="why")
    head = tag("th", run_link(entry.name), *(chip(one) for one in tags), made, scope="row")
    cells = [tag("td", text) for text in _facts(manifest)]
    waiting = None if figures is not None else path_of("part", "figures", entry.name)
    counted = [tag("td", *cell, class_=kind) for kind, cell in _cells(figures)]
    return tag("tr", head, *cells, *counted, data_href=path_of("runs", entry.name), data_figures=waiting)


def _facts(manifest: RunManifest) -> tuple[str, ...]:
    return (manifest.suite, manifest.agent, manifest.release or UNKNOWN, manifest.tool_mode)


def _cells(figures: RunFigures | str | None) -> list[tuple[str | None, tuple[Markup | str, ...]]]:
    if figures is None:
        return [("num", ("…",))] * 4 + [(None, ("",))]
    if isinstance(figures, str):
        return [("num", (UNKNOWN,))] * 4 + [(None, (tag("span", bounded(figures, 200), class_="bad"),))]
    done = f"{figures.done}" if figures.done == figures.planned else f"{figures.done} of {figures.planned}"
    worst = [chip(f"{words(mode)} {count}", "mode") for mode, count in figures.modes[:2]]
    return [
        ("num", (done,)),
        ("num", (rate_words(figures.rate, figures.unknown, figures.done),)),
        ("num", (interval_words(figures.interval),)),
        ("num", (money(figures.cost_usd),)),
        (None, tuple(worst)),
    ]


def _nothing(everything: Sequence[RunEntry]) -> Markup:
    if everything:
        return tag("p", "No run fits the filter. ", link("/", "Show all runs"), class_="empty")
    return empty("There are no runs yet.", "harness run SUITE", "makes the first one.")


PAGES = PageSet(
    shows={"/": runs, "/runs": runs, "/part/figures/{run}": figures},
    acts={"/runs/{run}/tags": tag_run},
    entry=("Runs", "Runs", "/"),
)
