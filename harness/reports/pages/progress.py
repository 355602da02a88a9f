"""The state of a run as a watched page shows it."""

from datetime import UTC, datetime
from typing import Final

from harness.reports.pages.markup import bounded, rate_words
from harness.reports.pages.request import Project
from harness.reports.pages.run_index import RunFigures
from harness.reports.units import dollars, percent_between
from harness.runs.store.beside_trials import in_flight
from harness.runs.store.storage import is_being_written
from harness.text import visible
from harness.traces.recorder import TrialProgress
from harness.values import JsonObject

_TRIALS: Final = 64
"""Shown of those in flight."""


def live_state(project: Project, name: str) -> JsonObject:
    """Everything that changes while a run goes on. Raises UsageError, ResultsError."""
    figures = project.index.figures(name)
    running = is_running(project, name, figures)
    trials = in_flight(project.index.place(name)) if running else ()
    return {
        "running": running,
        "done": figures.done,
        "planned": figures.planned,
        "rate": rate_words(figures.rate, figures.unknown, figures.done),
        "interval": percent_between(figures.interval),
        "succeeded": figures.succeeded,
        "failed": figures.failed,
        "unknown": figures.unknown,
        "cost": dollars(figures.cost_usd),
        "trials": [_trial(one) for one in trials[:_TRIALS]],
    }


def _trial(one: TrialProgress) -> JsonObject:
    """The current step of a trial; the names of tools come from the agent."""
    done = "1 step" if one.interactions == 1 else f"{one.interactions} steps"
    last = visible(bounded(one.last.removeprefix("execute_tool "), 120))
    since = datetime.fromtimestamp(one.started_ns / 1e9, UTC).strftime("%H:%M:%S")
    words = f"{done}, last {last}" if one.last else "starting"
    return {"case": visible(bounded(one.case_id, 120)), "attempt": one.attempt, "words": f"{words}; since {since} UTC"}


def is_running(project: Project, name: str, figures: RunFigures) -> bool:
    """Whether trials of the run are still to come from a harness that is at work."""
    written = is_being_written(project.index.place(name))
    return figures.done < figures.planned if written is None else written
