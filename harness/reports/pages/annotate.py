"""Annotation: what was labelled, and a choice of the run, the rubric and who answers."""

from typing import Final

from harness.judging.annotation import PER_ITEM
from harness.judging.rubrics import Rubric
from harness.reports.pages.blind import beginning
from harness.reports.pages.markup import (
    NO_RUNS,
    UNKNOWN,
    Markup,
    bounded,
    choice,
    facts,
    fragment,
    link,
    path_of,
    row,
    run_link,
    table,
    tag,
    when,
)
from harness.reports.pages.request import Ask, Page, PageSet, Project
from harness.runs.store.folder import RunFolder
from harness.suite.suites import Suite

_RUNS: Final = 50


def _newest(project: Project) -> Markup:
    """The newest runs as a list to choose one from."""
    entries = [one for one in project.index.entries() if one.manifest is not None][:_RUNS]
    rows = [
        row(
            link(path := path_of("annotate", run=one.name), one.name),
            one.manifest.suite,
            one.manifest.agent,
            when(one.manifest.created),
            href=path,
        )
        for one in entries
        if one.manifest is not None
    ]
    if not rows:
        return NO_RUNS
    return table(("run", "suite", "agent", "made"), rows, caption="Runs", class_="plain list")


def choosing(ask: Ask) -> Page:
    """`/annotate?run=&rubric=`: a run, then a rubric, then who annotates."""
    name, rubric = ask.query.get("run", ""), ask.query.get("rubric", "")
    if not name:
        lead = tag("p", "A label belongs to what the agent did, and holds in every run.", class_="prose")
        body = fragment(lead, _newest(ask.project))
    elif not rubric:
        body = _rubrics(ask, ask.project.run(name))
    else:
        body = _begin(ask, ask.project.run(name), rubric)
    return Page.of("Annotate", body, section="Annotate")


def _rubrics(ask: Ask, folder: RunFolder) -> Markup:
    suite = ask.project.annotations.suite(folder)
    rows = [_rubric_row(ask, folder, suite, one) for one in ask.project.annotations.fitting(folder, suite)]
    heads = ("rubric", "#criteria", "#labelled", "#to decide", "people")
    return fragment(
        tag("p", link("/annotate", "Runs", data_up=True), class_="crumbs"),
        facts((("run", run_link(folder.manifest.run)), ("suite", suite.name))),
        table(heads, rows, caption="Rubrics that fit the run", class_="plain list"),
    )


def _rubric_row(ask: Ask, folder: RunFolder, suite: Suite, rubric: Rubric) -> Markup:
    labels = ask.project.annotations.labels(suite, rubric)
    path = path_of("annotate", run=folder.manifest.run, rubric=rubric.name)
    return row(
        fragment(link(path, rubric.name), tag("span", bounded(rubric.description, 200), class_="why")),
        str(len(rubric.criteria)),
        str(len(labels.items)),
        str(sum(one.settled == "contested" for one in labels.items)),
        bounded(", ".join(labels.annotators), 200) or UNKNOWN,
        href=path,
    )


def _begin(ask: Ask, folder: RunFolder, name: str) -> Markup:
    """Who annotates; what was left out of the labels is said here, because it would be asked again."""
    own = ask.project.annotations
    suite = own.suite(folder)
    rubric = own.rubric(suite, name)
    labels = own.labels(suite, rubric)
    person = tag("input", name="as", required=True, maxlength="60", autocomplete="username", data_filter=True)
    tasks = (("annotator", "label"), ("adjudicator", "decide where two people differ"))
    roles = [tag("option", words, value=value) for value, words in tasks]
    per_item = tag("input", type="number", name="per", min="1", max="20", value=str(PER_ITEM))
    criteria = [one.id for one in rubric.criteria if one.kind != "code"]
    form = tag(
        "form",
        tag("label", tag("span", "your name"), person),
        tag("label", tag("span", "task"), tag("select", *roles, name="role")),
        tag("label", tag("span", "people who answer each question"), per_item),
        choice("criterion", "criterion", criteria, "", otherwise="all"),
        tag("button", "Begin"),
        method="get",
        action=path_of("annotate", folder.manifest.run, name),
        class_="act",
    )
    return fragment(
        tag("p", link(path_of("annotate", run=folder.manifest.run), "Rubrics", data_up=True), class_="crumbs"),
        facts((("run", run_link(folder.manifest.run)), ("rubric", f"{rubric.name} {rubric.version}"))),
        *(tag("p", bounded(problem), class_="alert") for problem in labels.problems()),
        form,
        beginning(ask, folder.manifest.run, rubric, suite.name),
    )


PAGES = PageSet(shows={"/annotate": choosing}, entry=("Trust", "Annotate", "/annotate"))
