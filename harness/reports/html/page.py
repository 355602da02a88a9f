"""The page: one document with its style, its program and its data inside.

Its content security policy names style and program by their digests and allows nothing else: even data that broke out
of its element could run nothing and reach nothing. A trial's trajectory is an element of its own, which the page reads
only when the trial is opened.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from pydantic import JsonValue

from harness.disk import write_output
from harness.errors import ResultsError
from harness.reports.html.data import comparison_view, data_element, label, present, run_view, trial_view
from harness.reports.judged import judged_trials
from harness.reports.palette import palette
from harness.runs.store.baseline import runs_in
from harness.runs.store.beside_trials import cause_of, fork_of
from harness.runs.store.folder import RunFolder, StoredTrial, gc_paused
from harness.runs.store.storage import read_checked
from harness.scoring.scorecard import Scorecard
from harness.traces.outcomes import MEASURED
from harness.traces.trial import Trial
from harness.values import JsonObject

# The cause of a failed trial in the trajectory viewer: the change and the resulting branch.


def cause_view(run: RunFolder, trial: Trial, card: Scorecard, budget: int) -> JsonObject:
    """The field `cause` of a trial's view; empty where no cause is known."""
    found = cause_of(run, trial.case_id, trial.attempt)
    if found is None:
        return {}
    fork = fork_of(run, found)
    branch = None if fork is None else trial_view(fork, card, budget)
    return {
        "cause": present(
            steps=list(found.steps),
            words=found.words,
            symptom=found.symptom,
            effect=f"with the change it succeeds in {found.mended} of {found.repeats} repeats; against chance p ="
            f" {found.p_value:.3f}",
            fork=found.fork,
            branch=None if branch is None else present(steps=branch.get("steps"), final=branch.get("final")),
        )
    }


# The web pages that the checks of a trial examined, with screenshots if the size limit of the report permits.

PICTURE = "data:image/png;base64,"
_SCREENSHOT_BUDGET = 12_000_000
"""Characters of all pictures of a run, base64."""
_ITEMS = 20


def pages_view(stored: StoredTrial, trials: int) -> list[JsonObject]:
    """The pages of one trial; a screenshot above the trial's share of the limit is replaced by its file name."""
    left = _SCREENSHOT_BUDGET // trials
    shown: list[JsonObject] = []
    for name, seen in list(stored.trial.pages.items())[:_ITEMS]:
        picture = None
        if seen.screenshot is not None:
            content = base64.b64encode(read_checked(stored.folder, seen.screenshot)).decode("ascii")
            picture = PICTURE + content if len(content) <= left else None
            left -= 0 if picture is None else len(content)
        shown.append(
            present(
                check=name,
                url=seen.url,
                title=seen.title,
                status=seen.status,
                problem=seen.problem,
                file=seen.screenshot,
                picture=picture,
            )
        )
    return shown


# The frequency of each failure mode in this run and in the other runs of the suite.

_MOST_RELEASES = 8


def releases_view(folder: RunFolder) -> JsonObject:
    """The newest other runs, oldest first; unreadable ones are named and skipped."""
    known = {run.manifest.run: run for run in _neighbours(folder)} | {folder.manifest.run: folder}
    newest = sorted(known.values(), key=lambda run: (run.manifest.created, run.manifest.run))[-_MOST_RELEASES:]
    if folder.manifest.run not in {run.manifest.run for run in newest}:
        newest = [folder, *newest[1:]]
    runs: list[JsonValue] = []
    unreadable: list[JsonValue] = []
    for run in newest:
        try:
            runs.append(_counted(run))
        except ResultsError:
            unreadable.append(run.manifest.run)
    return {"runs": runs, "unreadable": unreadable}


def _neighbours(folder: RunFolder) -> Iterator[RunFolder]:
    for run in runs_in(folder.path.parent):
        if run.manifest.suite == folder.manifest.suite:
            yield run


def _counted(run: RunFolder) -> JsonObject:
    cards = [card for card in run.scorecards() if card.outcome in MEASURED]
    modes = Counter(mode for card in cards for mode in {found.failure for found in card.diagnoses})
    known = [card.success for card in cards if card.success is not None]
    return {
        "run": run.manifest.run,
        "label": label(run.manifest),
        "measured": len(cards),
        "modes": dict(sorted(modes.items())),
        "rate": sum(known) / len(known) if known else None,
        "unknown": len(cards) - len(known),
    }


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
_PAGE_BUDGET = 24_000_000
"""Characters of all trajectories of a run."""
_LEAST, _MOST_TRIALS = 6_000, 400_000
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
    budget = max(_LEAST, min(_MOST_TRIALS, _PAGE_BUDGET // max(1, len(cards))))
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
    return (files("harness.reports.html") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
