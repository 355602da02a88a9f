"""The command `harness`: verbs are loaded when they are used, so that help answers at once."""

import sys
import warnings
from importlib import import_module

import click

from harness.cli.streams import NOBODY_READS, give_up_output, open_streams, refuse_other_encodings
from harness.errors import ExitCode, HarnessError
from harness.os_errors import os_error_in_words

_VERBS = {
    "init": "Write a first evaluation project into a folder.",
    "doctor": "Say what is missing on this machine, and remove what dead runs left.",
    "run": "Run a suite: restored, replayed, traced, scored.",
    "record": "Run a suite against its real services and keep their answers as cassettes.",
    "merge": "Put the shards of a run together.",
    "demo": "Build what is missing, run every version of a suite's agent, and compare them.",
    "score": "Score a stored run again, without running it.",
    "report": "Show a stored run: terminal, Markdown, JUnit XML or JSON.",
    "compare": "Show the difference between two runs, case by case.",
    "baseline": "Keep a run as what later ones are held against.",
    "explain": "Show a trial step by step, with the diagnosis at its steps.",
    "fork": "Play a trial again up to a step, and on from there with one change.",
    "blame": "Find the step that made a trial fail, by trying changes.",
    "minimise": "Find the shortest case that still fails in the same way.",
    "transcript": "Show a trial as a judge is shown it, short and in views.",
    "judge": "Judge a run by a rubric, one criterion at a time; rubrics, prompts, judges.",
    "annotate": "Label a run by a rubric, on a local page: what judges are held against.",
    "simulator": "Show what simulated users did in a run, and which conversations they invalidated.",
    "trend": "Show a suite's metrics and failure modes, release by release, and what jumped.",
    "case": "Check a suite's cases with `oracle` and `nop`; turn a trial into a case.",
    "tool": "List a suite's tools, and take the listings of their sources anew.",
    "drift": "Say where the tools answer otherwise than their recordings.",
    "cassette": "List, check and show recordings.",
    "issue": "File drift as issues, and list them.",
    "snapshot": "Build, list, verify and compare snapshots.",
    "schema": "Print the JSON Schemas of the files that people write, for editors.",
    "image": "Build and list the images that sandboxes and services run in.",
    "import": "Read somebody else's trajectories into a run folder.",
    "ingest": "Receive spans and logs of production by OTLP/HTTP.",
    "online": "Score sessions of production as trials are scored, and watch them.",
    "export": "Write a run's trials as ATIF or OTLP JSON, or cases as Google ADK's.",
}

_MODULES = {"import": "importing"}
"""Verbs that cannot be a module's name."""


class Verbs(click.Group):
    """One module a verb, imported only when the verb is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a user meets them."""
        del ctx
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, or for the group's own help a placeholder with its one-line description."""
        del ctx
        if cmd_name not in _VERBS:
            return None
        command = import_module(f"harness.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the verbs without importing one."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "HARNESS"})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _show_version(ctx) if asked else None,
    help="Show what a bug report needs: versions of the harness, Python, the engine and the libraries.",
)
@click.option(
    "--project",
    type=click.Path(file_okay=False, exists=True),
    default=".",
    show_default="the current folder",
    help="The evaluation project: the folder with suites/, images/, snapshots/ and cassettes/.",
)
@click.option("--debug", is_flag=True, help="Show a traceback when the harness fails.")
@click.pass_context
def harness(ctx: click.Context, project: str, debug: bool) -> None:
    """Evaluate tool-using agents in isolated, replayed sandboxes.

    \b
    harness run drive_thru                    the suite with its default agent, tools replayed
    harness run drive_thru --agent v1         another version of the agent
    harness compare RUN_A RUN_B               what changed, case by case
    harness record drive_thru                 real services answer, and their answers are kept

    Exit status: 0 done, 1 a verdict (failing gate, inconclusive trials, every
    trial crashed), 2 usage, 3 the harness could not. Without a gate wrong answers exit 0: see --fail-under.
    """
    from pathlib import Path  # a fifth of what help would cost

    refuse_other_encodings()
    ctx.obj = Path(project).resolve()
    ctx.meta["harness.debug"] = debug


def _show_version(ctx: click.Context) -> None:
    from harness.cli.version import version_lines

    click.echo("\n".join(version_lines()))
    ctx.exit()


def main() -> None:
    """Runs the command line; the one place where errors become messages and exit codes."""
    open_streams()
    warnings.filterwarnings("default", message="`harness", category=DeprecationWarning)  # for authors of suites
    try:
        status = harness.main(standalone_mode=False)
        _print_the_rest()
    except click.ClickException as error:
        error.show()
        sys.exit(int(ExitCode.USAGE))
    except (click.Abort, KeyboardInterrupt):
        click.echo("harness: stopped; everything that it started was ended", err=True)
        sys.exit(130)
    except SystemExit:  # no verb ends so; click and rich exit with 1, a verdict, where the reader closed the pipe
        sys.exit(NOBODY_READS)
    except HarnessError as error:
        sys.exit(_told(error, error))
    except (OSError, MemoryError, RuntimeError) as error:
        sys.exit(_told(os_error_in_words(error), error))
    sys.exit(status if isinstance(status, int) else 0)


def _print_the_rest() -> None:
    """While there still is an exit status to choose."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_output()
        sys.exit(NOBODY_READS)
    except OSError:
        give_up_output()
        raise


def _told(told: HarnessError, cause: Exception) -> int:
    """Prints the error; with `--debug` as a traceback."""
    if "--debug" in sys.argv:
        raise cause
    click.echo(f"harness: {told}", err=True)
    return int(told.exit_code)
