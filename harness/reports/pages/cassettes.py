"""Recordings: by suite and case, with their provenance and age."""

import re
from datetime import UTC, datetime
from pathlib import Path

from harness.cassettes.check import CassetteSummary, cassette_paths, list_cassettes, shown_cassette
from harness.errors import UsageError
from harness.reports.pages.markup import (
    UNKNOWN,
    Markup,
    bounded,
    chip,
    empty,
    fold,
    folded_value,
    link,
    path_of,
    row,
    shown_text,
    table,
    tag,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.runs.store.manifest import SUITE_NAME

_BODY = 20_000


def suites(ask: Ask) -> Page:
    """`/cassettes`: the suites with recordings."""
    root = ask.project.path / "cassettes"
    names = sorted(one.name for one in root.iterdir() if one.is_dir() and _is_name(one.name)) if root.is_dir() else []
    rows = [
        row(link(path := path_of("cassettes", name), name), str(len(cassette_paths(root, name))), href=path)
        for name in names
    ]
    shown = table(("suite", "#cases"), rows, caption="Suites with recordings", class_="plain list")
    nothing = empty("The project has no recordings.", "harness record SUITE", "makes them.")
    misses = tag("p", link("/misses", "Calls without a recording, over all runs"))
    return Page.of("Cassettes", shown if rows else nothing, misses, section="Cassettes")


def suite(ask: Ask) -> Page:
    """`/cassettes/{suite}`."""
    name = _named(ask)
    found = list_cassettes(ask.project.path / "cassettes", name)
    shown, beside = ask.part(found, path_of("cassettes", name))
    heads = ("case", "#recordings", "tools", "provenance", "written")
    rows = [_summary(name, one) for one in shown]
    listed = table(heads, rows, caption="Cassettes of the suite", class_="plain list")
    return Page.of(name, listed, beside, section="Cassettes", up=("/cassettes", "Cassettes"))


def cassette(ask: Ask) -> Page:
    """`/cassettes/{suite}/{case}`: the recordings in the order of writes."""
    name, case = _named(ask), ask.place["case"]
    path = next((one for one in cassette_paths(ask.project.path / "cassettes", name) if one.stem == case), None)
    if path is None:
        raise UsageError(f"suite {name!r} has no recordings of {bounded(case, 100)!r}")
    found = shown_cassette(path)
    own, beside = ask.part(list(enumerate(found.recordings)), path_of("cassettes", name, case))
    shown = [
        tag(
            "li",
            tag(
                "header",
                link(f"#recording-{place}", str(place + 1), class_="index"),
                tag("span", bounded(one.tool, 200), class_="tool"),
                chip(one.effect),
                chip(one.provenance),
            ),
            tag("p", f"{bounded(one.server, 100)}, after {bounded(one.after, 300) or 'no write'}", class_="dim"),
            folded_value("asked", one.arguments, _BODY),
            fold(f"{words(one.outcome)} {one.status}", shown_text(one.body, _BODY, class_="pre")),
            class_="step",
            id=f"recording-{place}",
            tabindex="-1",
        )
        for place, one in own
    ]
    count = tag("p", f"{len(found.recordings)} recordings, written {_age(path)}", class_="count")
    body = (count, tag("ol", *shown, class_="turn"), beside)
    return Page.of(case, *body, section="Cassettes", up=(path_of("cassettes", name), name))


def _named(ask: Ask) -> str:
    name = ask.place["suite"]
    if not _is_name(name):
        raise UsageError(f"{bounded(name, 100)!r} is not a suite")
    return name


def _is_name(name: str) -> bool:
    return re.fullmatch(SUITE_NAME, name) is not None


def _summary(suite_name: str, one: CassetteSummary) -> Markup:
    path = path_of("cassettes", suite_name, one.case)
    tools = ", ".join(f"{name} {count}" for name, count in list(one.tools.items())[:8])
    sources = ", ".join(f"{name} {count}" for name, count in one.provenance.items())
    return row(
        link(path, one.case),
        str(one.recordings),
        bounded(tools, 300),
        bounded(sources) or UNKNOWN,
        _age(one.path),
        href=path,
    )


def _age(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d")


PAGES = PageSet(
    shows={"/cassettes": suites, "/cassettes/{suite}": suite, "/cassettes/{suite}/{case}": cassette},
    entry=("Trust", "Cassettes", "/cassettes"),
)
