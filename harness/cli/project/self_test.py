"""`harness self-test`: tries on this machine what the harness promises."""

import time

import click

from harness.errors import ExitCode

_MARKS = {"works": "ok", "fails": "--", "absent": ".."}


@click.command("self-test")
@click.option(
    "--sandbox",
    "sandboxes",
    multiple=True,
    metavar="NAME",
    help="Try only this sandbox; can be repeated. Default: local, docker and docker-warm.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.pass_context
def command(ctx: click.Context, sandboxes: tuple[str, ...], as_json: bool) -> None:
    """Try on this machine what the harness promises: every guarantee of its sandboxes, recording and replay.

    \b
    harness self-test
    harness self-test --sandbox local
    harness self-test --json

    Takes about two minutes. Everything happens in a temporary folder. A sandbox whose engine or image is
    missing is named with the remedy. Exit 3 if a part fails or could not be tried.
    """
    from harness.cli.output.console import print_json, say
    from harness.pipeline import self_test
    from harness.sandbox import temporary_folder

    began, results = time.monotonic(), []
    chosen = sandboxes or ("local", "docker", "docker-warm")
    with temporary_folder() as folder:
        for one in self_test(folder, chosen, say):
            results.append(one)
            if not as_json:
                click.echo(f"{_MARKS[one.state]:3} {one.part:22} {one.text} ({one.seconds:.0f} s)")
                for problem in one.problems:
                    click.echo(f"    {'':22} {problem}")
                if one.remedy:
                    click.echo(f"    {'':22} -> {one.remedy}")
    works = sum(one.state == "works" for one in results)
    if as_json:
        print_json([one.model_dump(mode="json") for one in results])
    else:
        absent = sum(one.state == "absent" for one in results)
        fails = len(results) - works - absent
        click.echo(f"\n{works} work, {fails} fail, {absent} not tried, in {time.monotonic() - began:.0f} s")
    ctx.exit(ExitCode.DONE if works == len(results) else ExitCode.COULD_NOT)
