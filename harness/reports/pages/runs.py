"""All runs of the project: listed, filtered and tagged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.reports.pages.markup import (
    NO_RUNS,
    UNKNOWN,
    Markup,
    Order,
    bounded,
    choice,
    filters,
    fragment,
    hidden,
    link,
    path_of,
    rate_words,
    run_link,
    search,
    table,
    tag,
    term,
    when,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunEntry, RunFigures, RunIndex
from harness.reports.units import dollars, percent_between
from harness.runs.store.manifest import RunManifest

_PER_PAGE = 50
_WITHIN_S = 0.12
"""For the figures of one page; runs that were not counted by then are filled in by the page's program."""
_HEADS = ("run", "suite", "agent", "release", "tools", "#trials", "#success", "#95 %", "#cost", "most frequent failure")
_FIELDS = ("suite", "agent", "release")
_SORTED = ("run", "suite", "agent", "release", "tools", "trials", "success", "cost")


def _orders(index: RunIndex, entries: Sequence[RunEntry]) -> Mapping[str, Callable[[RunEntry], Any]]:
    """By head; runs that were not counted in time stand last."""
    counted = index.figures_within([entry.name for entry in entries if entry.manifest is not None], _WITHIN_S)

    def fact(name: str) -> Callable[[RunEntry], Any]:
        return lambda entry: entry.manifest and getattr(entry.manifest, name)

    def figure(name: str) -> Callable[[RunEntry], Any]:
        return lambda entry: getattr(counted.get(entry.name), name, None)

    facts = (fact(name) for name in ("created", "suite", "agent", "release", "tool_mode"))
    return dict(zip(_SORTED, (*facts, *map(figure, ("done", "rate", "cost_usd"))), strict=True))


def runs(ask: Ask) -> Page:
    """`/`: filters are parts of the address."""
    everything = ask.project.index.entries()
    chosen = [entry for entry in everything if _fits(entry, ask)]
    index = ask.project.index
    counted = chosen if ask.query.get("sort") else ()
    order = Order(path="/", query=ask.query, keys=_orders(index, counted))
    shown, beside = ask.part(order.of(chosen), "/", _PER_PAGE)
    readable = [entry.name for entry in shown if entry.manifest is not None]
    figures = index.figures_within(readable, _WITHIN_S)
    rows = [_row(entry, figures.get(entry.name)) for entry in shown]
    listed = table(_HEADS, rows, caption="Runs", class_="plain list runs", order=order)
    count = f"{len(chosen)} of {len(everything)} runs" if len(chosen) != len(everything) else f"{len(chosen)} runs"
    button = tag("button", "Compare two ticked runs", class_="quiet")
    return Page.of(
        "Runs",
        _filters(ask, everything),
        tag("form", listed, button, action="/compare", class_="ticked") if rows else _nothing(everything),
        beside,
        section="Runs",
        beside=tag("p", count, class_="count"),
        modules=("figures.js",),
    )


def figures(ask: Ask) -> Page:
    """`/part/figures/{run}`: the cells of one row that was not counted in time."""
    name = ask.place["run"]
    found = ask.project.index.figures_within([name], 1_000_000)
    return Page(title="", body=fragment(*_cells(name, found.get(name))), part=True)


def _fits(entry: RunEntry, ask: Ask) -> bool:
    asked = {name: ask.query.get(name, "") for name in _FIELDS}
    sought = ask.query.get("q", "").casefold()
    manifest = entry.manifest
    if manifest is None:
        return not any(asked.values()) and sought in entry.name.casefold()
    if any(asked[name] not in ("", getattr(manifest, name) or "") for name in _FIELDS):
        return False
    return sought in f"{entry.name} {manifest.suite} {manifest.agent} {manifest.release}".casefold()


def _filters(ask: Ask, everything: Sequence[RunEntry]) -> Markup:
    manifests = [entry.manifest for entry in everything if entry.manifest is not None]
    known = {name: sorted({getattr(one, name) for one in manifests} - {None}) for name in _FIELDS}
    choices = [choice(name, name, known[name], ask.query.get(name, "")) for name in _FIELDS if known[name]]
    if ask.query.get("sort"):
        choices.append(hidden("sort", ask.query["sort"]))
    return filters(search("q", "find", ask.query.get("q", "")), *choices, action="/")


def _row(entry: RunEntry, figures: RunFigures | str | None) -> Markup:
    manifest = entry.manifest
    if manifest is None:
        problem = tag("td", tag("span", bounded(entry.problem or "", 300), class_="bad"), colspan=str(len(_HEADS) - 1))
        return tag("tr", tag("th", entry.name, scope="row"), problem)
    more = tag("span", f" · {bounded(manifest.suite, 60)} · {bounded(manifest.agent, 60)}", class_="narrow")
    made = tag("span", when(manifest.created), more, class_="why")
    box = tag("input", type="checkbox", name="run", value=entry.name, aria_label=f"compare {entry.name}")
    head = tag("th", box, " ", run_link(entry.name), made, scope="row")
    cells = [tag("td", term(text) if text in ("oracle", "nop", "sealed") else text) for text in _facts(manifest)]
    waiting = None if figures is not None else path_of("part", "figures", entry.name)
    counted = _cells(entry.name, figures)
    return tag("tr", head, *cells, *counted, data_href=path_of("runs", entry.name), data_figures=waiting)


def _facts(manifest: RunManifest) -> tuple[str, ...]:
    return (manifest.suite, manifest.agent, manifest.release or UNKNOWN, manifest.tool_mode)


def _cells(name: str, figures: RunFigures | str | None) -> list[Markup]:
    if figures is None:
        return [tag("td", "…", class_="num")] * 4 + [tag("td")]
    if isinstance(figures, str):
        return [tag("td", UNKNOWN, class_="num")] * 4 + [tag("td", tag("span", bounded(figures, 200), class_="bad"))]
    done = f"{figures.done}" if figures.done == figures.planned else f"{figures.done} of {figures.planned}"
    worst = [
        link(path_of("runs", name, mode=mode), term(mode), f" {count}", class_="chip mode")
        for mode, count in figures.modes[:2]
    ]
    rate = rate_words(figures.rate, figures.unknown, figures.done)
    shown = (
        link(path_of("runs", name), done),
        link(path_of("runs", name, result="failed"), rate) if figures.failed else rate,
        percent_between(figures.interval),
        dollars(figures.cost_usd),
    )
    return [*(tag("td", one, class_="num") for one in shown), tag("td", *worst)]


def _nothing(everything: Sequence[RunEntry]) -> Markup:
    if everything:
        return tag("p", "No run fits the filter. ", link("/", "Show all runs"), class_="empty")
    return NO_RUNS


PAGES = PageSet(
    shows={"/": runs, "/runs": runs, "/part/figures/{run}": figures},
    entry=("Runs", "Runs", "/"),
)
