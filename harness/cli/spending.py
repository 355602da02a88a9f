"""Options about the model and about what a run may spend, and what they mean."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
MODEL_MODES = ("replay", "record", "live")


def model_options(command: Command) -> Command:
    """Who answers for the model, who plays the users, and the run's budget."""
    for option in reversed(
        (
            click.option(
                "--model",
                type=click.Choice(MODEL_MODES),
                help="Who answers for the model; default: as the suite says, else replay.",
            ),
            click.option(
                "--user",
                metavar="KIND",
                help="Who plays the users: `script`, `model`, `logged`, an installed user; default: as the cases say.",
            ),
            click.option(
                "--user-mode",
                type=click.Choice(MODEL_MODES),
                help="Who answers for the users' model; default: as the suite says, else replay.",
            ),
            click.option(
                "--user-log",
                metavar="RUN",
                help="Play back the conversations of RUN as long as they fit (--user logged).",
            ),
            click.option(
                "--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when models have cost this much."
            ),
            click.option(
                "--budget-tokens", type=click.IntRange(1), help="Stop when models have used this many tokens."
            ),
            click.option(
                "--budget-calls", multiple=True, metavar="TOOL=N", help="Stop at one more real call (repeatable)."
            ),
        )
    ):
        command = option(command)
    return command
