"""A click group that imports a subcommand on first use, so that `--help` is fast."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Verb(NamedTuple):
    """Location of a subcommand."""

    module: str
    """The module below `harness.cli`."""
    name: str = "command"
    """The name of the command in the module."""
    help: str | None = None
    """The line in the group's help; None: the module is imported and the command's help used."""


class LazyGroup(click.Group):
    """`verbs`: name -> location of each subcommand, in the order of the help text."""

    section = "Commands"
    """The heading of the list in the group's help."""

    def __init__(self, *args: Any, verbs: Mapping[str, Verb], **options: Any) -> None:
        super().__init__(*args, **options)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the subcommands in the order of `verbs`."""
        del ctx
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the subcommand's module."""
        del ctx
        if cmd_name not in self._verbs:
            return None
        verb = self._verbs[cmd_name]
        command = getattr(import_module(f"harness.cli.{verb.module}"), verb.name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the subcommands; imports only those without a declared help line."""
        lines = [(name, verb.help) for name, verb in self._verbs.items() if verb.help is not None]
        if len(lines) < len(self._verbs):
            super().format_commands(ctx, formatter)
            return
        with formatter.section(self.section):
            formatter.write_dl(lines)
