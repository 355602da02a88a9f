"""Optimisations of prompts: the tree of candidates, the best score by rollouts, and the changed texts."""

from harness.improve.outcome import StoredOptimisation
from harness.improve.report import curve_lines, diff_lines, result_lines, tree_lines
from harness.reports.pages.markup import Markup, block, bounded, empty, fragment, link, path_of, tag
from harness.reports.pages.request import Ask, Page, PageSet


def optimisations(ask: Ask) -> Page:
    """`/optimisations`."""
    names = [path.name for path in sorted(ask.project.index.runs.glob("[!.]*")) if StoredOptimisation(path).exists]
    items = [tag("li", link(path_of("optimisations", name), name)) for name in names[:500]]
    nothing = empty("No optimisation is stored.", "harness optimise SUITE", "makes the first one.")
    listed = tag("ul", *items, class_="verdicts") if items else nothing
    return Page.of("Optimisations", listed, section="Optimisations")


def optimisation(ask: Ask) -> Page:
    """`/optimisations/{name}`."""
    name = ask.place["name"]
    stored = StoredOptimisation(ask.project.index.place(name))
    asked, outcome = stored.asked, stored.outcome
    accepted = None if outcome is None else outcome.accepted
    parts = [_block("Candidates", list(tree_lines(stored.records, accepted)))]
    if outcome is None:
        parts.insert(0, tag("p", "It has not ended.", class_="notice"))
    else:
        parts = [tag("p", bounded(outcome.why, 1000), class_="notice"), *parts]
        parts += [_block("Best score by rollouts", list(curve_lines(outcome)))]
        parts += [_block("Result", list(result_lines(outcome)))]
    if accepted is not None:
        before, after = stored.candidate(asked.start), stored.candidate(accepted)
        parts.append(_block("Changed texts", list(diff_lines(before, after))))
    return Page.of(name, *parts, section="Optimisations", up=("/optimisations", "Optimisations"))


def _block(title: str, lines: list[str]) -> Markup:
    return fragment(tag("h2", title), block("\n".join(lines), 60_000))


PAGES = PageSet(
    shows={"/optimisations": optimisations, "/optimisations/{name}": optimisation},
    entry=("Improve", "Optimisations", "/optimisations"),
)
