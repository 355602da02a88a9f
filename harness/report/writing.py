"""Writes the report of a stored run into its folder."""

from pathlib import Path

from harness.documents import write_atomically
from harness.report.figures.summary import Summary
from harness.report.render.json import summary_json
from harness.report.render.junit import junit_xml
from harness.report.render.markdown import summary_markdown
from harness.results import RunFolder, allowed_inconclusive


def write_report(folder: RunFolder, summary: Summary, max_inconclusive: int | None = None) -> Path:
    """Writes `report/summary.md`, `junit.xml` and `summary.json` into the run folder; returns the path of the Markdown.

    `summary` is the folder's own: the same folder gives the same bytes, and an older report is replaced.
    `max_inconclusive`: how many such trials the run may have, for JUnit; None: as many as it was allowed when it ran.
    """
    target = folder.path / "report"
    allowed = allowed_inconclusive(folder) if max_inconclusive is None else max_inconclusive
    texts = {
        "summary.json": summary_json(summary),
        "junit.xml": junit_xml(summary, folder.scorecards(), allowed),
        "summary.md": summary_markdown(summary),
    }
    for name, text in texts.items():
        write_atomically(target / name, text.encode("utf-8", "backslashreplace"))
    return target / "summary.md"
