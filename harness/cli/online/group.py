"""`harness online`: production sessions, their scores, and shifts in the scores."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.lazy_group import LazyGroup, Verb

if TYPE_CHECKING:
    from harness.online import DayFacts, SessionStore

Command = TypeVar("Command", bound=Callable[..., Any])

_VERBS = {
    "sessions": Verb("online.sessions", "sessions"),
    "show": Verb("online.sessions", "show"),
    "delete": Verb("online.sessions", "delete"),
    "compact": Verb("online.sessions", "compact"),
    "send": Verb("online.send", "send"),
    "score": Verb("online.score", "score"),
    "report": Verb("online.watch", "report"),
    "watch": Verb("online.watch", "watch"),
}


@click.group("online", cls=LazyGroup, verbs=_VERBS)
def command() -> None:
    """Score production sessions with the same scorers as trials, and monitor the scores.

    \b
    harness ingest serve                    receives the spans
    harness online score support --watch    scores the sessions as they complete
    harness online report support           prints the failures of the latest day
    harness online watch support --file     files shifts as issues
    """


def store_option(command: Command) -> Command:
    """Which store."""
    return click.option(
        "--store",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the store; default: online/ in the project.",
    )(command)


def open_store(project: Path, folder: Path | None) -> "SessionStore":
    """Opens the store that the option names."""
    from harness.online import DEFAULT_FOLDER, SessionStore, online_settings

    return SessionStore.open(folder or project / DEFAULT_FOLDER, online_settings(project).clickhouse)


def scored_facts(store: "SessionStore", suite: str) -> "DayFacts":
    """The stored scores of the suite. Raises UsageError if there are none."""
    from harness.errors import UsageError

    facts = store.facts(suite)
    if not facts.counted_days():
        raise UsageError(f"the store has no session that {suite!r} has scored", remedy=f"harness online score {suite}")
    return facts


def since_ns(since: str | None) -> int:
    """Nanoseconds since the epoch of `7d`, `12h`, `30m` ago, or of a date; 0 for None. Raises UsageError."""
    import re
    import time
    from datetime import UTC, datetime

    from harness.errors import UsageError

    if since is None:
        return 0
    found = re.fullmatch(r"(\d{1,5})([dhm])", since)
    if found is not None:
        return time.time_ns() - int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]] * 10**9
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        raise UsageError(
            f"invalid --since {since!r}: expected a duration or a date",
            remedy="for example 7d, 12h, 30m, or 2026-01-31",
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e9)
