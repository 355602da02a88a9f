"""Options for models, simulated users and budgets."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
MODEL_MODES = ("replay", "record", "live")


def model_options(command: Command) -> Command:
    """The options for the model, the simulated users and the run's budget."""
    for option in reversed(
        (
            click.option(
                "--model",
                type=click.Choice(MODEL_MODES),
                help="Source of the model's answers; default: the suite's setting, else replay.",
            ),
            click.option(
                "--user",
                metavar="KIND",
                help="Kind of simulated user: `script`, `model`, `logged`, or the name of an installed one;"
                " default: the cases' setting.",
            ),
            click.option(
                "--user-mode",
                type=click.Choice(MODEL_MODES),
                help="Source of the answers of the users' model; default: the suite's setting, else replay.",
            ),
            click.option(
                "--user-log",
                metavar="RUN",
                help="With --user logged: replay the conversations of RUN until the agent diverges.",
            ),
            click.option(
                "--budget-usd",
                type=click.FloatRange(0, min_open=True),
                help="Stop when the models' cost reaches this amount.",
            ),
            click.option(
                "--budget-tokens", type=click.IntRange(1), help="Stop when the models have used this many tokens."
            ),
            click.option(
                "--budget-calls",
                multiple=True,
                metavar="TOOL=N",
                help="Stop before real call N+1 of TOOL (repeatable).",
            ),
        )
    ):
        command = option(command)
    return command
