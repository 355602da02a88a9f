"""A text that is looked for in the transcripts of all runs."""

import time
from collections.abc import Iterator
from typing import Final

from harness.errors import HarnessError
from harness.reports.pages.markup import (
    Markup,
    bounded,
    filters,
    link,
    path_of,
    row,
    search,
    table,
    tag,
    trial_path,
    value_text,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.traces.trajectory import Step

_WITHIN_S: Final = 0.7
_MOST: Final = 100
_AROUND: Final = 90


def found(ask: Ask) -> Page:
    """`/search?q=&from=`: as many trials as there is time for, the newest run first; a link goes on after them."""
    sought = ask.query.get("q", "").strip()[:200]
    begin = ask.number("from", default=1, most=100_000_000) - 1
    deadline, read, rows = time.monotonic() + _WITHIN_S, 0, list[Markup]()
    more = False
    for run, case, attempt in _trials(ask) if sought else ():
        read += 1
        if read <= begin:
            continue
        if time.monotonic() > deadline or len(rows) >= _MOST:
            more, read = True, read - 1
            break
        rows += _hits(ask, run, case, attempt, sought)
    on = link(path_of("search", q=sought, **{"from": read + 1}), "Search the trials after these", rel="next")
    said = f"{len(rows)} steps in trials {begin + 1} to {read}. "
    return Page.of(
        "Search in transcripts",
        filters(search("q", "text", sought), action="/search"),
        tag("p", said, on if more else None, class_="count") if sought else None,
        table(("trial", "step", "text"), rows, caption="Steps with the text", class_="plain list") if rows else None,
        section="Search",
    )


def _trials(ask: Ask) -> Iterator[tuple[str, str, int]]:
    for entry in ask.project.index.entries():
        try:
            for line in ask.project.index.lines(entry.name) if entry.manifest is not None else ():
                yield entry.name, line.case_id, line.attempt
        except HarnessError:
            continue  # the list of runs tells what is wrong with it


def _hits(ask: Ask, run: str, case: str, attempt: int, sought: str) -> Iterator[Markup]:
    try:
        trial = ask.project.run(run).trial(case, attempt)
    except HarnessError:
        return
    path = trial_path(run, case, attempt)
    for step in () if trial is None else trial.trajectory.steps:
        text = _text(step)
        at = text.casefold().find(sought.casefold())
        if at >= 0:
            near = " ".join(text[max(0, at - _AROUND) : at + len(sought) + _AROUND].split())
            head = link(f"{path}#step-{step.index}", bounded(f"{run} / {case} / {attempt}", 200))
            yield row(head, str(step.index), near, href=f"{path}#step-{step.index}")


def _text(step: Step) -> str:
    called = (f"{one.name} {value_text(one.arguments)}" for one in step.calls)
    seen = (value_text(one.content) if one.error is None else one.error.message for one in step.observations)
    return "\n".join(filter(None, (step.message, step.thought, *called, *seen)))


PAGES = PageSet(shows={"/search": found}, entry=("Runs", "Search", "/search"))
