"""Options that several verbs share, declared once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.plugins import Registry

Command = TypeVar("Command", bound=Callable[..., Any])

SANDBOXES = ("docker", "docker-warm", "local")
TOOL_MODES = ("replay", "sealed", "live", "record")


class ShardType(click.ParamType[tuple[int, int]]):
    """`2/4` as (2, 4)."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, _, count = str(value).partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            self.fail(f"invalid shard {value!r}: expected K/N, for example 1/4 ... 4/4", param, ctx)
        return int(number), int(count)


class SandboxType(click.ParamType[str]):
    """A sandbox provider; those that are not built in are looked for only when one is named."""

    name = "sandbox"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value)
        if name in SANDBOXES:
            return name
        from harness.sandbox import isolates

        try:
            isolates(name)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return name


class PluginType(click.ParamType[str]):
    """A name of a registry; installed packages are looked through only when a name is not built in."""

    def __init__(self, name: str, registry: "Callable[[], Registry]") -> None:
        """`name` is the noun of the messages; `registry` is called when help or a value needs it."""
        self.name = name
        self._registry = registry

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        del param, ctx
        return f"[{'|'.join(self._registry().built_in)}|NAME]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, registry = str(value), self._registry()
        if name not in registry.built_in and ":" not in name and name not in registry.names:
            self.fail(f"there is no {self.name} named {name!r}; one of: {', '.join(registry.names)}", param, ctx)
        return name


def executors() -> "Registry":
    """The registry of executors, imported on first use."""
    from harness.pipeline import EXECUTORS

    return EXECUTORS


def importers() -> "Registry":
    """The registry of importers, imported on first use."""
    from harness.ingest import IMPORTERS

    return IMPORTERS


def selection_options(command: Command) -> Command:
    """Which cases."""
    for option in reversed(
        (
            click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable)."),
            click.option("--category", "categories", multiple=True, metavar="NAME", help="Only this category."),
            click.option(
                "--difficulty",
                "difficulties",
                multiple=True,
                type=click.Choice(["easy", "medium", "hard"]),
                help="Only cases of this difficulty.",
            ),
            click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag."),
            click.option("--failed-in", metavar="RUN", help="Only cases that RUN did not see succeed."),
        )
    ):
        command = option(command)
    return command


def run_name(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The name that was typed for a run; refused before anything is done where it could not be a folder's."""
    del ctx, parameter
    from harness.results import check_run_name

    return None if value is None else check_run_name(value)


def sandbox_option(command: Command) -> Command:
    """Where the agent runs."""
    return click.option(
        "--sandbox",
        type=SandboxType(),
        metavar=f"[{'|'.join(SANDBOXES)}|NAME]",
        default="docker",
        show_default=True,
        help="`docker`: a container for each trial. `docker-warm`: one container for many trials, each in namespaces"
        " of its own; starts in milliseconds. `local`: a plain process, no isolation. Or an installed one's NAME.",
    )(command)


def jobs_option(command: Command) -> Command:
    """How many trials side by side."""
    return click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1, 256),
        default=None,
        show_default="what the machine holds",
        help="Trials that run side by side; by default one for each processor, and as many more as wait for live"
        " answers and have room in memory.",
    )(command)
