"""The page: one document with its style, its program and its data inside.

Its content security policy names style and program by their digests and allows nothing else: even data that broke out
of its element could run nothing and reach nothing. A trial's trajectory is an element of its own, which the page reads
only when the trial is opened.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from harness.documents import write_output
from harness.errors import ResultsError
from harness.palette import palette
from harness.report.figures.judged import judged_trials
from harness.report.html.cause import cause_view
from harness.report.html.embedding import data_element
from harness.report.html.pages import PICTURE, pages_view
from harness.report.html.releases import releases_view
from harness.report.html.run import comparison_view, run_view
from harness.report.html.trial import trial_view
from harness.results import RunFolder, StoredTrial, gc_paused
from harness.score import Scorecard
from harness.values import JsonObject

PROGRAM = (
    "dom.js",
    "wording.js",
    "payload.js",
    "data.js",
    "chart.js",
    "plots.js",
    "figures.js",
    "judged.js",
    "cases.js",
    "step.js",
    "align.js",
    "trial.js",
    "cause.js",
    "viewer.js",
    "keys.js",
)
"""In the order of their dependencies."""
_BUDGET = 24_000_000
"""Characters of all trajectories of a run."""
_LEAST, _MOST = 6_000, 400_000
"""Characters of one trajectory."""


@gc_paused()
def html_report(folder: RunFolder, against: RunFolder | None = None) -> str:
    """The report of a run, compared with `against` where that is set.

    Other runs of the same suite in the same folder are counted too, for the failure modes by release. Raises
    ResultsError naming a damaged file of either run.
    """
    data: list[str] = []
    page: JsonObject = {"runs": [], "releases": releases_view(folder)}
    runs = [folder] if against is None else [folder, against]
    views = []
    for number, run in enumerate(runs):
        cards = run.scorecards()
        views.append(run_view(run, cards, _embedding(run, cards, number, data)))
    page["runs"] = list(views)
    if against is not None:
        page["comparison"] = comparison_view(against, folder)
    return _document(folder.manifest.run, [data_element("report", page), *data])


def write_html(folder: RunFolder, target: Path, against: RunFolder | None = None) -> Path:
    """Writes the report to `target`; an existing file is replaced."""
    try:
        write_output(target, html_report(folder, against).encode("utf-8"))
    except OSError as error:
        raise ResultsError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


def _embedding(run: RunFolder, cards: Sequence[Scorecard], number: int, data: list[str]) -> Iterator[StoredTrial]:
    """Yields the run's trials and adds each to `data`: only one is held in memory at a time."""
    budget = max(_LEAST, min(_MOST, _BUDGET // max(1, len(cards))))
    by_key = {(card.case_id, card.attempt): card for card in cards}
    judged = judged_trials(run)
    for place, stored in enumerate(run.trials()):
        key = stored.trial.case_id, stored.trial.attempt
        view = trial_view(stored.trial, by_key[key], budget, judged.get(key, ()))
        if stored.trial.pages:
            view["pages"] = list(pages_view(stored, len(cards)))
        view |= cause_view(run, stored.trial, by_key[key], budget)
        view["folder"] = stored.folder.relative_to(run.path).as_posix()
        data.append(data_element(f"trial-{number}-{place}", view))
        yield stored


def _document(run: str, data: Sequence[str]) -> str:
    style = palette() + _asset("style.css")
    program = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in PROGRAM) + "})();\n"
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(program)}'; base-uri 'none'"
    if any(PICTURE in element for element in data):
        policy += "; img-src data:"
    head = _asset("head.html").replace("{policy}", policy).replace("{run}", run)
    parts = [
        head,
        f"<style>{style}</style>\n</head>\n",
        _asset("body.html"),
        *data,
        f"<script>{program}</script>\n",
        "</body>\n</html>\n",
    ]
    return "".join(parts)


def _asset(name: str) -> str:
    return (files("harness.report.html") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
