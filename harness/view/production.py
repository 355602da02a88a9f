"""The store of production sessions as pages read it."""

from pathlib import Path
from typing import Final

from harness.online import DEFAULT_FOLDER, SessionStore, StoreLayout, online_settings
from harness.view.markup import path_of

DAYS: Final[dict[str, int | None]] = {"1": 1, "30": 30, "90": 90, "all": None}
"""What a list can be limited to: days back; None: everything."""
DEFAULT_DAYS: Final = 7


def days_back(asked: str) -> int | None:
    """The days of a query; None: everything."""
    return DAYS.get(asked, DEFAULT_DAYS)


def opened_store(project: Path) -> SessionStore | None:
    """None where the project has none. Raises ResultsError for one that cannot be read.

    A store belongs to one thread, so that each page opens its own.
    """
    settings = online_settings(project)
    if settings.clickhouse is None and not StoreLayout(project / DEFAULT_FOLDER).exists:
        return None
    return SessionStore.open(project / DEFAULT_FOLDER, settings.clickhouse)


def session_path(key: str) -> str:
    """The address of one session."""
    return path_of("production", "sessions", key)
