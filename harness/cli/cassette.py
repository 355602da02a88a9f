"""`harness cassette`: what the recordings hold, and whether they are sound."""

from pathlib import Path
from typing import Literal

import click


@click.group("cassette")
def command() -> None:
    """List, check, show and convert recordings."""


@command.command("list")
@click.argument("suite")
@click.pass_obj
def list_cassettes(project: Path, suite: str) -> None:
    """List the tapes of SUITE."""
    from harness.cassette.check import list_tapes

    for tape in list_tapes(project / "cassettes", suite):
        click.echo(f"{tape.case:40} {tape.recordings:5} recordings  {', '.join(tape.tools)}")


@command.command("check")
@click.argument("suites", nargs=-1)
@click.pass_context
def check(ctx: click.Context, suites: tuple[str, ...]) -> None:
    """Check the tapes of SUITES (all where none is named).

    Each must be loaded by stock vcrpy, have the keys that its calls give, and hold no value of the suite's secrets.
    Exit 1 where one does not. Says too where a tape would be better off as JSON.
    """
    from harness.case.loading import load_suite, suite_names
    from harness.cassette.check import advice_on, check_tape, tape_paths
    from harness.errors import ExitCode
    from harness.pipeline.secrets import secret_values

    project: Path = ctx.obj
    checked = problems = 0
    for name in suites or suite_names(project):
        secrets = secret_values(load_suite(project, name))
        for path in tape_paths(project / "cassettes", name):
            checked += 1
            findings = check_tape(path, secrets)
            problems += len(findings)
            advice = None if findings else advice_on(path, name)
            for line in (*findings, *(() if advice is None else (advice,))):
                click.echo(str(line))
    click.echo(f"{checked} tapes checked, {problems} problems")
    ctx.exit(ExitCode.VERDICT if problems else ExitCode.DONE)


@command.command("convert")
@click.argument("suite")
@click.argument("case")
@click.option("--to", "form", type=click.Choice(["json", "yaml"]), required=True, help="The format to change to.")
@click.pass_obj
def convert(project: Path, suite: str, case: str, form: Literal["json", "yaml"]) -> None:
    """Turn the tape of one case into JSON, which opens quicker, or into YAML, which reads better."""
    from harness.cassette.convert import convert_tape

    click.echo(convert_tape(project / "cassettes", suite, case, form))


@command.command("show")
@click.argument("suite")
@click.argument("case")
@click.pass_obj
def show(project: Path, suite: str, case: str) -> None:
    """Show the recordings of one case, by the writes that came before each."""
    from harness.cassette.check import show_tape
    from harness.cassette.tape import tape_path

    click.echo(show_tape(tape_path(project / "cassettes", suite, case)), nl=False)
