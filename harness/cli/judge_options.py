"""Options of the subcommands that ask a model to judge, declared once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from harness.judge import JudgeSettings

Command = TypeVar("Command", bound=Callable[..., Any])

CALLS = ("auto", "replay", "live")
_SETTINGS = ("model", "base_url", "provider", "api_key", "samples", "in_flight", "label")


def model_options(command: Command) -> Command:
    """The options that select and configure the judge's model; `judge.yaml` provides the values of options that are not
    given.
    """
    for option in reversed(
        (
            click.option(
                "--model", metavar="NAME", help="The judge's model; default: `judge.yaml`, else another family."
            ),
            click.option("--base-url", metavar="URL", help="Where it is served; default: at the provider."),
            click.option("--provider", type=click.Choice(["openai", "anthropic"]), help="The wire format it speaks."),
            click.option("--api-key", metavar="VARIABLE", help="Name of the environment variable that holds the key."),
            click.option("--label", metavar="LABEL", help="Which version of the prompt; default: production."),
            click.option(
                "--calls",
                "mode",
                type=click.Choice(CALLS),
                default="auto",
                show_default=True,
                help="`auto`: recorded answers first, the rest is asked and kept; `replay`: recorded ones only.",
            ),
        )
    ):
        command = option(command)
    return command


def settings_of(
    project: Path, suite_folder: Path | None, options: Mapping[str, Any], agents: tuple[str, ...] = ()
) -> "JudgeSettings":
    """The judge of the command line's options, which override `judge.yaml`."""
    from harness.judge import judge_settings

    return judge_settings(project, suite_folder, {name: options.get(name) for name in _SETTINGS}, agents)
