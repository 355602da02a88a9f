"""One run: its conditions, its figures, and its trials as a table that is filtered, sorted and paged."""

from collections.abc import Callable, Sequence

from harness.errors import UsageError
from harness.reports.pages.markup import (
    PER_PAGE,
    UNKNOWN,
    Markup,
    action,
    bounded,
    chip,
    choice,
    facts,
    filters,
    fragment,
    interval_words,
    link,
    money,
    pager,
    pages_of,
    path_of,
    rate_words,
    search,
    success_mark,
    table,
    tag,
    trial_path,
    when,
    words,
)
from harness.reports.pages.progress import is_running
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunFigures, TrialLine
from harness.runs.store.beside_trials import request_stop, stop_of, tags_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest

_HEADS = ("trial", "result", "category", "#steps", "#cost", "failure modes")
_SORTS: dict[str, Callable[[TrialLine], tuple[object, ...]]] = {
    "failed first": lambda one: ({False: 0, None: 1, True: 2}[one.success],),
    "most steps": lambda one: (-(one.steps or 0),),
    "most expensive": lambda one: (-(one.cost_usd or 0),),
}
_RESULTS = ("failed", "passed", "unknown")
_OTHERS = 200


def run(ask: Ask) -> Page:
    """`/runs/{run}`."""
    name = ask.place["run"]
    folder = ask.project.run(name)
    manifest = folder.manifest
    figures, lines = ask.project.index.figures(name), ask.project.index.lines(name)
    running = is_running(ask.project, name, figures)
    body = fragment(
        tag("p", link("/", "Runs", data_up=True), class_="crumbs"),
        tag("div", tag("h1", name), *(chip(one) for one in tags_of(folder.path)), class_="title"),
        _stopped(folder, running, name),
        tiles(figures, running, name),
        facts(_conditions(manifest)),
        tag("div", _compare(ask, name, manifest), _tagging(name, folder), class_="tools"),
        _more(name),
        _trials(ask, name, lines),
    )
    modules = ("live.js",) if running else ()
    return Page(title=name, body=body, section="Runs", modules=modules)


def stop(ask: Ask) -> str:
    """Asks the run to start no further trial. Raises UsageError where it is not in flight."""
    name = ask.place["run"]
    if not is_running(ask.project, name, ask.project.index.figures(name)):
        raise UsageError(f"run {name!r} is not in flight")
    request_stop(ask.project.run(name).path)
    return path_of("runs", name)


def tiles(figures: RunFigures, running: bool, name: str) -> Markup:
    """The figures of a run; of one in flight they follow it."""
    unknown = f", {figures.unknown} unknown" if figures.unknown else ""
    rest = f"{figures.succeeded} passed, {figures.failed} failed{unknown}"
    rate = rate_words(figures.rate, figures.unknown, figures.done)
    shown = (
        ("Success", rate, interval_words(figures.interval) or "no interval", "rate"),
        ("Trials", f"{figures.done} of {figures.planned}", rest, "done"),
        ("Cost", money(figures.cost_usd), "as far as it is known", "cost"),
    )
    boxes = [
        tag(
            "div",
            tag("h2", head),
            tag("p", value, class_="value", data_live=key),
            tag("p", under, class_="under", data_live=f"{key}-under"),
            class_="tile",
        )
        for head, value, under, key in shown
    ]
    live = path_of("live", name) if running else None
    bar = tag("progress", max=figures.planned, value=figures.done, data_live="bar", aria_label="trials done")
    return tag(
        "section", *boxes, bar if running else None, class_="tiles", data_events=live, aria_label="Figures of the run"
    )


def _stopped(folder: RunFolder, running: bool, name: str) -> Markup | None:
    if running:
        status = tag("p", "This run is in flight; the page follows it.", role="status", class_="notice")
        ends = action(path_of("runs", name, "stop"), "Stop after the trials in flight")
        return fragment(status, ends, tag("ul", data_live="trials", class_="in-flight", aria_label="Trials in flight"))
    stopped = stop_of(folder)
    if stopped is None:
        return None
    return tag("p", f"Stopped before its plan was complete: {bounded(stopped.reason)}", class_="alert")


def _conditions(manifest: RunManifest) -> list[tuple[str, Markup | str]]:
    isolated = manifest.provider if manifest.isolates else f"{manifest.provider}: not isolated"
    found: list[tuple[str, Markup | str]] = [
        ("suite", f"{manifest.suite} {manifest.suite_digest[:12]}"),
        ("agent", f"{manifest.agent} {manifest.agent_digest[:12]}"),
        ("answers", f"tools {manifest.tool_mode}, model {manifest.model_mode}"),
        ("sandbox", isolated),
        ("made", f"{when(manifest.created)} by {manifest.harness_version}"),
    ]
    optional = (("release", manifest.release), ("snapshot", manifest.snapshot), ("shard", manifest.shard))
    found += [(key, value) for key, value in optional if value]
    found += [("variable", f"{key}={value}") for key, value in list(manifest.variables.items())[:20]]
    return found


def _compare(ask: Ask, name: str, manifest: RunManifest) -> Markup | None:
    """A choice of the other runs of the suite, the newest first."""
    others = [
        entry.name
        for entry in ask.project.index.entries()
        if entry.manifest is not None and entry.manifest.suite == manifest.suite and entry.name != name
    ]
    if not others:
        return None
    shown = [tag("option", other, value=other) for other in others[:_OTHERS]]
    chooser = tag("label", tag("span", "compare with"), tag("select", *shown, name="before"))
    hidden = tag("input", type="hidden", name="after", value=name)
    return tag(
        "form", chooser, hidden, tag("button", "Compare", class_="quiet"), method="get", action="/compare", class_="act"
    )


def _more(name: str) -> Markup:
    """What else there is of the run."""
    pages = (("annotate", "Annotate"), ("workbench", "Workbench"), ("themes", "Themes"))
    links = [tag("li", link(path_of(page, run=name), title)) for page, title in pages]
    return tag("nav", tag("ul", *links), class_="versions", aria_label="More of this run")


def _tagging(name: str, folder: RunFolder) -> Markup:
    field = tag("input", name="tags", value=", ".join(tags_of(folder.path)), maxlength="500")
    label = tag("label", tag("span", "tags, with commas"), field)
    return action(path_of("runs", name, "tags"), "Save tags", None, label)


def _trials(ask: Ask, name: str, lines: Sequence[TrialLine]) -> Markup:
    chosen = [line for line in lines if _fits(line, ask)]
    by = _SORTS.get(ask.query.get("sort", ""))
    if by is not None:
        chosen.sort(key=by)
    pages = pages_of(len(chosen))
    number = ask.number("page", most=pages)
    shown = chosen[(number - 1) * PER_PAGE : number * PER_PAGE]
    count = f"{len(chosen)} of {len(lines)}" if len(chosen) != len(lines) else f"{len(lines)}"
    path = path_of("runs", name)
    return tag(
        "section",
        tag("div", tag("h2", "Trials", id="trials"), tag("p", count, class_="count"), class_="title"),
        _filters(ask, path, lines),
        table(_HEADS, (_row(name, line) for line in shown), caption="Trials of the run", class_="plain list"),
        pager(number, pages, path, ask.query),
        aria_labelledby="trials",
    )


def _fits(line: TrialLine, ask: Ask) -> bool:
    result = {True: "passed", False: "failed", None: "unknown"}[line.success]
    if ask.query.get("result", "") not in ("", result) or ask.query.get("category", "") not in ("", line.category):
        return False
    mode = ask.query.get("mode", "")
    if mode and mode not in line.modes:
        return False
    sought = ask.query.get("q", "").casefold()
    return not sought or sought in f"{line.case_id} {line.category} {' '.join(line.tags)} {line.why}".casefold()


def _filters(ask: Ask, path: str, lines: Sequence[TrialLine]) -> Markup:
    asked = {name: ask.query.get(name, "") for name in ("q", "result", "category", "mode", "sort")}
    categories = sorted({line.category for line in lines})[:200]
    modes = sorted({mode for line in lines for mode in line.modes})
    return filters(
        search("q", "find", asked["q"]),
        choice("result", "result", _RESULTS, asked["result"]),
        choice("category", "category", categories, asked["category"]),
        choice("mode", "failure mode", modes, asked["mode"]),
        choice("sort", "order", tuple(_SORTS), asked["sort"]),
        action=path,
    )


def _row(name: str, line: TrialLine) -> Markup:
    path = trial_path(name, line.case_id, line.attempt)
    why = tag("span", bounded(line.why, 200), class_="why") if line.why and line.success is not True else None
    head = tag("th", link(path, f"{line.case_id} / {line.attempt}"), why, scope="row")
    steps = UNKNOWN if line.steps is None else f"{line.steps:.0f}"
    return tag(
        "tr",
        head,
        tag("td", success_mark(line.success, line.outcome)),
        tag("td", line.category),
        tag("td", steps, class_="num"),
        tag("td", money(line.cost_usd), class_="num"),
        tag("td", *(chip(words(mode), "mode") for mode in line.modes)),
        data_href=path,
    )


PAGES = PageSet(shows={"/runs/{run}": run}, acts={"/runs/{run}/stop": stop})
