"""One run: its conditions, its figures and plots, and its trials as a table that is filtered, sorted and paged."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.errors import UsageError
from harness.reports.pages.markup import (
    Markup,
    Order,
    action,
    bounded,
    chip,
    choice,
    chosen_of,
    facts,
    filters,
    fold,
    fragment,
    hidden,
    link,
    path_of,
    rate_words,
    row,
    search,
    section_tables,
    success_mark,
    table,
    tag,
    term,
    tiles,
    when,
    words,
)
from harness.reports.pages.plots import Bar, bars, histogram, middle
from harness.reports.pages.progress import is_running
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.run_index import RunFigures, TrialLine, failed_first, interval_of
from harness.reports.render.sections import judged_section
from harness.reports.units import dollars, figure, percent, percent_between
from harness.runs.store.beside_trials import request_stop, stop_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import judged_rubrics
from harness.runs.store.manifest import RunManifest

_HEADS = ("trial", "result", "category", "#steps", "#cost", "failure modes")
_ORDERS: dict[str, Callable[[TrialLine], Any]] = {
    "trial": lambda one: (one.case_id, one.attempt),
    "result": failed_first,
    "category": lambda one: one.category,
    "steps": lambda one: one.values.get("steps"),
    "tokens": lambda one: one.values.get("tokens"),
    "cost": lambda one: one.values.get("cost_usd"),
    "duration": lambda one: one.values.get("duration_s"),
}
_RESULTS = ("failed", "passed", "unknown")
LISTED = ("result", "category", "mode", "rule", "judged")
"""What a figure of the page filters the trials by."""
_MOST_BARS = 40
_PLOTTED = (("Steps", "steps"), ("Tokens", "tokens"), ("Cost", "cost_usd"), ("Duration", "duration_s"))


def run(ask: Ask) -> Page:
    """`/runs/{run}`."""
    name = ask.place["run"]
    folder = ask.project.run(name)
    manifest = folder.manifest
    figures, lines = ask.project.index.figures(name), ask.project.index.lines(name)
    running = ask.texts is None and is_running(ask.project, name, figures)
    return Page.of(
        name,
        _stopped(folder, running, name),
        _figures(figures, running, name),
        _plots(name, lines),
        _trials(ask, name, lines),
        _broken(name, lines),
        *_judged(folder),
        fold("Conditions", facts(_conditions(manifest))),
        *(() if ask.texts is not None else _actions(name)),
        section="Runs",
        up=("/", "Runs"),
        modules=("live.js",) if running else (),
    )


def stop(ask: Ask) -> str:
    """Asks the run to start no further trial. Raises UsageError where it is not in flight."""
    name = ask.place["run"]
    if not is_running(ask.project, name, ask.project.index.figures(name)):
        raise UsageError(f"run {name!r} is not in flight")
    request_stop(ask.project.run(name).path)
    return path_of("runs", name)


def _figures(figures: RunFigures, running: bool, name: str) -> Markup:
    """The figures of a run; of one in flight they follow it."""
    counts = {"passed": figures.succeeded, "failed": figures.failed, "unknown": figures.unknown}
    known = [(result, count) for result, count in counts.items() if count or result != "unknown"]
    parts = [link(path_of("runs", name, result=result), f"{count} {result}") for result, count in known]
    rest = fragment(parts[0], *(fragment(", ", one) for one in parts[1:]))
    tokens = "tokens are not known" if figures.tokens is None else f"{figures.tokens:,.0f} tokens"
    rate = rate_words(figures.rate, figures.unknown, figures.done)
    shown = (
        ("Success", rate, percent_between(figures.interval) or "no interval"),
        ("Trials", f"{figures.done} of {figures.planned}", rest),
        ("Cost", dollars(figures.cost_usd), tokens),
    )
    if not running:
        return tiles("Figures of the run", shown)
    bar = tag("progress", max=figures.planned, value=figures.done, data_live="bar", aria_label="trials done")
    followed = ("rate", "done", "cost")
    return tiles("Figures of the run", shown, bar, live=followed, data_events=path_of("live", name))


def _plots(name: str, lines: Sequence[TrialLine]) -> Markup | None:
    """Each bar leads to its trials."""
    if not lines:
        return None
    categories: dict[str, list[TrialLine]] = {}
    for line in lines:
        categories.setdefault(line.category, []).append(line)
    failing = Counter(mode for line in lines if line.success is not True for mode in line.modes)
    parts = [
        _plot("Success by category", bars(list(_rates(name, categories))[:_MOST_BARS], caption="Success by category")),
        _plot("Failure modes", bars(_modes(name, failing, len(lines)), caption="Failure modes")) if failing else None,
        *_histograms(name, lines),
    ]
    return tag("section", *parts, class_="plots", aria_label="Plots of the run")


def _plot(title: str, content: Markup) -> Markup:
    return tag("figure", tag("figcaption", title), content)


def _rates(name: str, categories: dict[str, list[TrialLine]]) -> Iterator[Bar]:
    for category, own in categories.items():
        known = [line for line in own if line.success is not None]
        passed = sum(bool(line.success) for line in known)
        rate = passed / len(known) if known else None
        words_of = f"{percent(rate)}, {passed} of {len(known)}"
        if len(known) < len(own):
            words_of += f", {len(own) - len(known)} unknown"
        href = path_of("runs", name, category=category)
        yield Bar(name=bounded(category, 60), share=rate, words=words_of, interval=interval_of(known), href=href)


def _modes(name: str, failing: Counter[str], trials: int) -> Iterator[Bar]:
    for mode, count in failing.most_common():
        href = path_of("runs", name, mode=mode)
        yield Bar(name=term(mode), share=count / trials, words=f"{count} trials", href=href, kind="bad")


def _histograms(name: str, lines: Sequence[TrialLine]) -> Iterator[Markup | None]:
    for title, metric in _PLOTTED:
        values = [line.values[metric] for line in lines if metric in line.values]
        ends = [figure(metric, one) for one in (min(values), middle(values), max(values))] if values else []
        yield histogram(title, values, ends, path_of("runs", name, sort=f"-{title.lower()}"))


def _broken(name: str, lines: Sequence[TrialLine]) -> Markup | None:
    """The learned rules that trials broke, the most frequent first; each leads to its trials."""
    found = Counter(rule for line in lines for rule in set(line.broken))
    if not found:
        return None
    failing = Counter(rule for line in lines if line.success is False for rule in set(line.broken))
    rows = [
        row(
            link(path_of("runs", name, rule=rule), bounded(rule, 200)),
            str(count),
            str(failing[rule, support]),
            support,
        )
        for (rule, support), count in found.most_common(_MOST_BARS)
    ]
    heads = ("rule", "#trials", "#of them failed", "support")
    return fragment(tag("h2", "Broken rules"), table(heads, rows, caption="Learned rules that trials broke"))


_ANSWERS = {"pass": "pass", "fail": "fail", "n/a": "not_eligible", "no answer": "judge_failed"}
"""Head of a column -> the answer that it counts."""


def _judged(folder: RunFolder) -> Iterator[Markup]:
    if not judged_rubrics(folder.path):
        return
    from harness.reports.judged import judged_run  # most runs have no judge

    def to(rubric: str, criterion: str, head: str) -> str | None:
        said = _ANSWERS.get(head)
        return said and path_of("runs", folder.manifest.run, judged=f"{rubric}/{criterion}/{said}")

    yield from section_tables(map(judged_section, judged_run(folder)), to)


def _judged_as(folder: RunFolder, asked: str) -> Callable[[TrialLine], bool]:
    """Whether a judge gave this answer to the criterion of a trial, or to an item of its checklist."""
    from harness.reports.judged import judged_trials

    rubric, criterion, said = [*asked.split("/"), "", ""][:3]
    found = {
        key
        for key, own in judged_trials(folder).items()
        for one in own
        if (one.rubric, one.answer) == (rubric, said) and criterion in (one.criterion, one.criterion.rpartition(".")[0])
    }
    return lambda line: (line.case_id, line.attempt) in found


def _actions(name: str) -> Iterator[Markup | None]:
    compared = link(path_of("compare", after=name), "Compare with the baseline")
    other = link(path_of("compare", run=name), "Compare with another run")
    yield tag("div", compared, other, class_="tools")
    pages = (("annotate", "Annotate"), ("themes", "Themes"))
    yield chosen_of("More of this run", ((path_of(page, run=name), title, False) for page, title in pages))


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


def _trials(ask: Ask, name: str, lines: Sequence[TrialLine]) -> Markup:
    chosen, path = listed(ask, lines), path_of("runs", name)
    shown, beside = ask.part(chosen, path)
    rows = [_row(name, line, kept_query(ask)) for line in shown]
    count = f"{len(chosen)} of {len(lines)}" if len(chosen) != len(lines) else f"{len(lines)}"
    return tag(
        "section",
        tag("div", tag("h2", "Trials", id="trials"), tag("p", count, class_="count"), class_="title"),
        _chosen(ask, path, len(chosen)),
        _filters(ask, path, lines),
        table(_HEADS, rows, caption="Trials of the run", class_="plain list", order=_order(ask)),
        beside,
        aria_labelledby="trials",
    )


def listed(ask: Ask, lines: Sequence[TrialLine]) -> Sequence[TrialLine]:
    """The trials that the query of the list asks for, in its order."""
    fitting = [line for line in lines if _fits(line, ask)]
    if asked := ask.query.get("judged"):
        fitting = list(filter(_judged_as(ask.project.run(ask.place["run"]), asked), fitting))
    return _order(ask).of(sorted(fitting, key=failed_first))


def _order(ask: Ask) -> Order[TrialLine]:
    """The failed trials stand first, unless a head was chosen."""
    return Order(path=path_of("runs", ask.place["run"]), query=ask.query, keys=_ORDERS)


def kept_query(ask: Ask) -> dict[str, str]:
    """What a list was asked for; the pages of its trials carry it on, so that they lead through the list and back."""
    return {name: ask.query[name] for name in ("q", "sort", *LISTED) if ask.texts is None and ask.query.get(name)}


def _chosen(ask: Ask, path: str, count: int) -> Markup | None:
    """What the list is filtered by, and the way back to all trials."""
    asked = [f"{name} {words(ask.query[name])}" for name in LISTED if ask.query.get(name)]
    if not asked:
        return None
    return tag("p", f"{count} trials with {', '.join(bounded(one, 200) for one in asked)}. ", link(path, "Show all"))


def _fits(line: TrialLine, ask: Ask) -> bool:
    result = {True: "passed", False: "failed", None: "unknown"}[line.success]
    if ask.query.get("result", "") not in ("", result) or ask.query.get("category", "") not in ("", line.category):
        return False
    mode, rule = ask.query.get("mode", ""), ask.query.get("rule", "")
    if (mode and mode not in line.modes) or (rule and rule not in {name for name, _ in line.broken}):
        return False
    sought = ask.query.get("q", "").casefold()
    return not sought or sought in f"{line.case_id} {line.category} {' '.join(line.tags)} {line.why}".casefold()


def _filters(ask: Ask, path: str, lines: Sequence[TrialLine]) -> Markup:
    asked = {name: ask.query.get(name, "") for name in ("q", "result", "category", "mode")}
    categories = sorted({line.category for line in lines})[:200]
    modes = sorted({mode for line in lines for mode in line.modes})
    return filters(
        search("q", "find", asked["q"]),
        choice("result", "result", _RESULTS, asked["result"]),
        choice("category", "category", categories, asked["category"]),
        choice("mode", "failure mode", modes, asked["mode"]),
        *(hidden(one, ask.query[one]) for one in ("rule", "judged", "sort") if ask.query.get(one)),
        action=path,
    )


def _row(name: str, line: TrialLine, asked: Mapping[str, str]) -> Markup:
    path = path_of("runs", name, "trials", line.case_id, line.attempt, **asked)
    why = tag("span", bounded(line.why, 200), class_="why") if line.why and line.success is not True else None
    return row(
        fragment(link(path, f"{line.case_id} / {line.attempt}"), why),
        success_mark(line.success, line.outcome),
        line.category,
        figure("steps", line.values.get("steps")),
        figure("cost_usd", line.values.get("cost_usd")),
        fragment(*(chip(term(mode), "mode") for mode in line.modes)),
        href=path,
    )


PAGES = PageSet(shows={"/runs/{run}": run}, acts={"/runs/{run}/stop": stop})
