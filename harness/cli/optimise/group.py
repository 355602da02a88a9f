"""`harness optimise`: revises an agent's prompts and accepts revisions that held-out cases confirm."""

import click

from harness.cli.lazy_group import LazyGroup, Verb

_COMMANDS = {
    "run": "Optimise a suite's prompts; `run` may be omitted.",
    "show": "Show an optimisation: candidates, best scores, changed texts.",
    "promote": "Write the accepted candidate as a patch or pull request, with the evidence.",
}


class Optimising(LazyGroup):
    """A click group whose default subcommand is `run`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`harness optimise SUITE` is `harness optimise run SUITE`."""
        return super().resolve_command(ctx, args if args[0] in _COMMANDS else ["run", *args])


@click.group(
    "optimise",
    cls=Optimising,
    verbs={name: Verb(f"optimise.{name}", help=line) for name, line in _COMMANDS.items()},
)
def command() -> None:
    """Find better prompts for the agent of a suite.

    \b
    harness optimise grocery --mode agent --component cart --from grocery-v1 --reflector-model gpt-5
    harness optimise grocery --mode joint --reflector-model gpt-5
    harness optimise show optimise-grocery-cart-1a2b3c4d
    harness optimise promote optimise-grocery-cart-1a2b3c4d --patch cart.patch
    """
