"""The state of a run as a watched page shows it."""

from harness.results import is_being_written
from harness.values import JsonObject
from harness.view.asking import Project
from harness.view.index.figures import RunFigures
from harness.view.wording import interval_words, money, share_words


def live_state(project: Project, name: str) -> JsonObject:
    """Everything that changes while a run goes on. Raises UsageError, ResultsError."""
    figures = project.index.figures(name)
    running = is_running(project, name, figures)
    return {
        "running": running,
        "done": figures.done,
        "planned": figures.planned,
        "rate": share_words(figures.rate),
        "interval": interval_words(figures.interval),
        "succeeded": figures.succeeded,
        "failed": figures.failed,
        "cost": money(figures.cost_usd),
    }


def is_running(project: Project, name: str, figures: RunFigures) -> bool:
    """Whether trials of the run are still to come from a harness that is at work."""
    written = is_being_written(project.index.place(name))
    return figures.done < figures.planned if written is None else written
