"""Annotation: what was labelled, and a choice of the run, the rubric and who answers."""

from harness.judge import Rubric, rubric_names
from harness.results import RunFolder
from harness.view.asking import Ask, Page, PageSet
from harness.view.markup import Markup, fragment, link, path_of, tag
from harness.view.run_rows import run_choice
from harness.view.tables import facts, row, table
from harness.view.wording import UNKNOWN, bounded, run_link


def choosing(ask: Ask) -> Page:
    """`/annotate?run=`: a run, then a rubric, and who annotates."""
    name = ask.query.get("run", "")
    body = _rubrics(ask, ask.project.run(name)) if name else _runs(ask)
    return Page(title="Annotate", body=fragment(tag("h1", "Annotate"), body), section="Annotate")


def _runs(ask: Ask) -> Markup:
    lead = "Choose the run whose trials are labelled. A label belongs to what the agent did, and holds in every run."
    return fragment(tag("p", lead, class_="prose"), run_choice(ask.project, "annotate"))


def _rubrics(ask: Ask, folder: RunFolder) -> Markup:
    suite = ask.project.annotations.suite(folder)
    names = rubric_names(suite.folder)
    rows = [_rubric_row(ask, folder, name) for name in names]
    heads = ("rubric", "#criteria", "#labelled", "#contested", "people", "annotate")
    return fragment(
        tag("p", link("/annotate", "Runs", data_up=True), class_="crumbs"),
        facts((("run", run_link(folder.manifest.run)), ("suite", suite.name))),
        table(heads, rows, caption="Rubrics of the suite"),
    )


def _rubric_row(ask: Ask, folder: RunFolder, name: str) -> Markup:
    own = ask.project.annotations
    suite = own.suite(folder)
    rubric = own.rubric(suite, name)
    labels = own.labels(suite, rubric)
    contested = sum(one.settled == "contested" for one in labels.items)
    return row(
        name,
        str(len(rubric.criteria)),
        str(len(labels.items)),
        str(contested),
        bounded(", ".join(labels.annotators), 200) or UNKNOWN,
        _begin(folder, rubric),
    )


def _begin(folder: RunFolder, rubric: Rubric) -> Markup:
    name = tag("input", name="as", required=True, maxlength="60", size="10", autocomplete="username")
    roles = [tag("option", words, value=value) for value, words in (("annotator", "label"), ("adjudicator", "decide"))]
    return tag(
        "form",
        tag("label", tag("span", "your name"), name),
        tag("label", tag("span", "task"), tag("select", *roles, name="role")),
        tag("button", "Begin", class_="quiet"),
        method="get",
        action=path_of("annotate", folder.manifest.run, rubric.name),
        class_="act",
    )


PAGES = PageSet(shows={"/annotate": choosing}, entry=("Annotate", "/annotate"))
