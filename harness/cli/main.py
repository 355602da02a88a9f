"""The command `harness`. A verb is imported on first use, so that `--help` is fast."""

import sys

import click

from harness.cli.garbage import collect_garbage_late, leave_garbage
from harness.cli.lazy_group import LazyGroup, Verb
from harness.cli.output.streams import NOBODY_READS, give_up_output, open_streams, refuse_other_encodings
from harness.errors import ExitCode, HarnessError
from harness.os_errors import os_error_in_words

_VERBS = {
    "init": "Write a first evaluation project into a folder.",
    "doctor": "Check this machine for missing programs, and clean up after crashed runs.",
    "self-test": "Try on this machine what the harness promises.",
    "run": "Run every case of a suite in a sandbox and score the trials.",
    "record": "Run a suite against its real services and record their answers.",
    "merge": "Merge the shards of a run.",
    "demo": "Build missing images, run every version of a suite's agent, and compare them.",
    "score": "Score a stored run again without running its agent.",
    "runs": "List the stored runs.",
    "trials": "List the trials of a run with their failures.",
    "view": "Show all runs, trials and comparisons in a web app on this machine.",
    "report": "Show a stored run as text, Markdown, JUnit XML, JSON or HTML.",
    "compare": "Show the difference between two runs, case by case.",
    "baseline": "Store a run as the baseline that later runs are compared with.",
    "explain": "Show a trial step by step with its diagnosis.",
    "fork": "Replay a trial up to a step, then continue with one change.",
    "blame": "Find the step that made a trial fail, by intervention.",
    "optimise": "Optimise an agent's prompts and confirm the result on held-out cases.",
    "transcript": "Show a trial as the compact transcript that judges receive.",
    "judge": "Judge a run by a rubric; manage rubrics, prompts and judges.",
    "annotate": "Label a run by a rubric on a local page, to evaluate judges.",
    "simulator": "Report on the simulated users of a run and on conversations that they made invalid.",
    "trend": "Show a suite's metrics and failure modes by release, and flag changes.",
    "case": "Check, draft, mutate and import cases; make a case from a trial.",
    "tool": "List a suite's tools; update the stored listings of their sources.",
    "drift": "Find tools whose current answers differ from their recordings.",
    "cassette": "List, check, show, convert and refresh recordings.",
    "notify": "Post a run's summary to a Slack-compatible webhook.",
    "issue": "File drift as issues, and list them.",
    "snapshot": "Build, list, verify and compare snapshots.",
    "schema": "Print JSON Schemas of suite.yaml and the other hand-written files.",
    "image": "Build and list the images that sandboxes and services run in.",
    "import": "Import trajectories of other programs as a run.",
    "ingest": "Receive production spans and logs over OTLP.",
    "online": "Score and monitor production sessions.",
    "themes": "Group failures of a run or of production by cause, and file them as issues.",
    "mcp": "Serve read-only verbs and safe actions to coding agents over MCP.",
    "export": "Export a run as ATIF or OTLP JSON, cases for Google ADK, or both to Langfuse.",
}

_ROOMS = {
    "run": ("run", "record", "merge", "demo", "score"),
    "results": ("runs", "trials", "report", "compare", "baseline", "explain", "transcript", "trend", "export"),
    "counterfactual": ("fork", "blame"),
    "drift": ("drift", "issue"),
    "project": ("init", "doctor", "snapshot", "schema", "image"),
}
_MODULES = (
    {"import": "results.importing", "self-test": "project.self_test"}  # no names of modules
    | {name: f"{name}.group" for name in ("case", "judge", "online", "optimise")}
    | {name: f"{room}.{name}" for room, names in _ROOMS.items() for name in names}
)
"""Verb -> its module, where that is not `harness.cli.<verb>`."""


class Verbs(LazyGroup):
    """The command's own verbs."""

    section = "Verbs"


@click.group(
    cls=Verbs,
    verbs={name: Verb(_MODULES.get(name, name), help=line) for name, line in _VERBS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "HARNESS"},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _show_version(ctx) if asked else None,
    help="Show the versions of the harness, Python, the container engine and the libraries.",
)
@click.option(
    "--project",
    type=click.Path(file_okay=False, exists=True),
    default=".",
    show_default="the current folder",
    help="The evaluation project: the folder with suites/, images/, snapshots/ and cassettes/.",
)
@click.option("--debug", is_flag=True, help="Print a traceback if the harness fails.")
@click.pass_context
def harness(ctx: click.Context, project: str, debug: bool) -> None:
    """Evaluate tool-using agents in isolated, replayed sandboxes.

    \b
    harness run drive_thru                    run the suite with its default agent, tools replayed
    harness run drive_thru --agent v1         another version of the agent
    harness compare RUN_A RUN_B               the differences between two runs, case by case
    harness record drive_thru                 record the answers of the real services

    Exit status: 0 success, 1 a negative verdict (a gate failed, trials were inconclusive, or every trial
    crashed), 2 usage error, 3 the harness failed. Wrong answers of the agent fail a run only by a gate: see
    `harness run --fail-under`.
    """
    from pathlib import Path  # importing it takes a fifth of the time of `--help`

    refuse_other_encodings()
    ctx.obj = Path(project).resolve()
    ctx.meta["harness.debug"] = debug


def _show_version(ctx: click.Context) -> None:
    from harness.cli.version import version_lines

    click.echo("\n".join(version_lines()))
    ctx.exit()


def main() -> None:
    """Runs the command line; the one place where errors become messages and exit codes."""
    collect_garbage_late()
    open_streams()
    try:
        status = harness.main(standalone_mode=False)
        _print_the_rest()
    except click.ClickException as error:
        error.show()
        sys.exit(int(ExitCode.USAGE))
    except (click.Abort, KeyboardInterrupt):
        click.echo("harness: interrupted; all started processes and containers were stopped", err=True)
        sys.exit(130)
    except SystemExit:  # click and rich exit with 1, which means a verdict here, if the reader closed the pipe
        sys.exit(NOBODY_READS)
    except HarnessError as error:
        sys.exit(_report_error(error, error))
    except (OSError, MemoryError, RuntimeError) as error:
        sys.exit(_report_error(os_error_in_words(error), error))
    finally:
        leave_garbage()
    sys.exit(status if isinstance(status, int) else 0)


def _print_the_rest() -> None:
    """Flushes the output while the exit status can still be chosen."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_output()
        sys.exit(NOBODY_READS)
    except OSError:
        give_up_output()
        raise


def _report_error(error: HarnessError, cause: Exception) -> int:
    """Prints the error; with `--debug` as a traceback."""
    if "--debug" in sys.argv:
        raise cause
    click.echo(f"harness: {error}", err=True)
    return int(error.exit_code)
