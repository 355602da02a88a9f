"""Options of the subcommands that use a model as judge."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import click

if TYPE_CHECKING:
    from harness.judge import JudgeSettings

Command = TypeVar("Command", bound=Callable[..., Any])

CALLS = ("auto", "replay", "live")
_SETTINGS = ("model", "base_url", "provider", "api_key", "samples", "in_flight", "label")


rubric_option = click.option(
    "--rubric",
    "rubric_name",
    required=True,
    metavar="NAME",
    help="Name of a rubric of the suite or of a template, or a file.",
)
in_flight_option = click.option(
    "--in-flight", type=click.IntRange(1, 1024), help="Maximum number of concurrent requests; default: 32."
)
budget_usd_option = click.option(
    "--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when the judge's cost reaches this amount."
)


class ModelOptions(TypedDict):
    """The values of `model_options`."""

    model: str | None
    base_url: str | None
    provider: str | None
    api_key: str | None
    label: str | None
    mode: Literal["auto", "replay", "live"]


def model_options(command: Command) -> Command:
    """The options that select and configure the judge's model; `judge.yaml` provides the values of options that are not
    given.
    """
    for option in reversed(
        (
            click.option(
                "--model",
                metavar="NAME",
                help="The judge's model; default: the one in `judge.yaml`, else one of another family than the"
                " agent's.",
            ),
            click.option("--base-url", metavar="URL", help="Base URL of its API; default: the provider's."),
            click.option("--provider", type=click.Choice(["openai", "anthropic"]), help="Wire format of its API."),
            click.option("--api-key", metavar="VARIABLE", help="Environment variable that holds the API key."),
            click.option(
                "--label", metavar="LABEL", help="Label that selects the version of the prompt; default: production."
            ),
            click.option(
                "--calls",
                "mode",
                type=click.Choice(CALLS),
                default="auto",
                show_default=True,
                help="`auto`: use recorded answers, ask for the others and record them; `replay`: recorded answers"
                " only.",
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
