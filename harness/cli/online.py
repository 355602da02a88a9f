"""`harness online`: sessions of production, their scores, and what changed in them."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from harness.online import SessionStore

Command = TypeVar("Command", bound=Callable[..., Any])

_VERBS = {
    "sessions": ("online_sessions", "sessions"),
    "show": ("online_sessions", "show"),
    "delete": ("online_sessions", "delete"),
    "compact": ("online_sessions", "compact"),
    "send": ("online_send", "send"),
    "score": ("online_score", "score"),
    "report": ("online_watch", "report"),
    "watch": ("online_watch", "watch"),
    "parity": ("online_send", "parity"),
}


class _OnlineVerbs(click.Group):
    """One module for a few verbs, imported when one of them is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a user meets them."""
        del ctx
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of the group."""
        del ctx
        if cmd_name not in _VERBS:
            return None
        module, name = _VERBS[cmd_name]
        command = getattr(import_module(f"harness.cli.{module}"), name)
        return command if isinstance(command, click.Command) else None


@click.group("online", cls=_OnlineVerbs)
def command() -> None:
    """Score sessions of production as trials are scored, and watch them.

    \b
    harness ingest serve                    receives the spans
    harness online score support --watch    scores the sessions as they complete
    harness online report support           what went wrong today
    harness online watch support --file     what shifted, as issues
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
    """The store of the option."""
    from harness.online import DEFAULT_FOLDER, SessionStore

    return SessionStore.open(folder or project / DEFAULT_FOLDER)


def since_ns(told: str | None) -> int:
    """Nanoseconds since the epoch of `7d`, `12h`, `30m` ago, or of a date; 0 for None. Raises UsageError."""
    import re
    import time
    from datetime import UTC, datetime

    from harness.errors import UsageError

    if told is None:
        return 0
    found = re.fullmatch(r"(\d{1,5})([dhm])", told)
    if found is not None:
        return time.time_ns() - int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]] * 10**9
    try:
        at = datetime.fromisoformat(told)
    except ValueError:
        raise UsageError(f"--since {told!r} is no time", remedy="7d, 12h, 30m, or 2026-01-31") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e9)
