"""The newest runs as a list to choose one from, for pages that begin with a run."""

from typing import Final

from harness.view.asking import Project
from harness.view.markup import Markup, link, path_of, tag
from harness.view.tables import row, table
from harness.view.wording import when

_RUNS: Final = 50


def run_choice(project: Project, page: str) -> Markup:
    """Each leads to `/<page>?run=`."""
    entries = [one for one in project.index.entries() if one.manifest is not None][:_RUNS]
    rows = [
        row(
            link(path := path_of(page, run=one.name), one.name),
            one.manifest.suite,
            one.manifest.agent,
            when(one.manifest.created),
            href=path,
        )
        for one in entries
        if one.manifest is not None
    ]
    if not rows:
        return tag("p", "There are no runs yet.", class_="empty")
    return table(("run", "suite", "agent", "made"), rows, caption="Runs", class_="plain list")
