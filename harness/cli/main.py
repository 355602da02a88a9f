"""The command `harness`. A verb is imported on first use, so that `--help` is fast."""

import gc
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from harness.cli.streams import NOBODY_READS, give_up_output, open_streams, refuse_other_encodings
from harness.errors import ExitCode, HarnessError, os_error_in_words

if TYPE_CHECKING:
    from pathlib import Path

# A click group that imports a subcommand on first use, so that `--help` is fast.


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
        with formatter.section("Commands"):
            formatter.write_dl(lines)


# When the command collects garbage: imports make many objects and no garbage.

_FIRST_AFTER: Final = 400_000
"""Objects before the first collection. A short run makes half as many; collecting on the way would cost it a tenth of
its processor time.
"""
_THEN_AFTER: Final = 20_000
"""Objects between two collections after the first."""


def collect_garbage_late() -> None:
    """Collects nothing before the process holds as many objects as a long run."""
    gc.callbacks.append(_from_now_on)
    gc.set_threshold(_FIRST_AFTER)


def _from_now_on(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.callbacks.remove(_from_now_on)
        gc.set_threshold(_THEN_AFTER)


_GROUPS: Final = {
    "Start": {
        "init": "Write a first evaluation project into a folder.",
        "doctor": "Check this machine for missing programs, and clean up after crashed runs.",
        "self-test": "Try on this machine what sandboxes promise.",
        "snapshot": "Build, verify and compare snapshots.",
        "image": "Build the images that sandboxes and services run in.",
    },
    "Run": {
        "run": "Run every case of a suite in a sandbox and score the trials.",
        "record": "Run a suite against its real services and record their answers.",
        "merge": "Merge the shards of a run.",
        "score": "Score a stored run again without running its agent.",
        "case": "Check, draft and import cases; make a case from a trial.",
        "tool": "List a suite's tools; update the stored listings of their sources.",
        "cassette": "Check, show and refresh recordings.",
    },
    "Look": {
        "runs": "List the stored runs.",
        "trials": "List the trials of a run with their failures.",
        "explain": "Show a trial step by step with its diagnosis, or as judges receive it.",
        "report": "Show a stored run as text, Markdown, JUnit XML, JSON or HTML.",
        "compare": "Show the difference between two runs, case by case.",
        "baseline": "Store a run as the baseline that later runs are compared with.",
        "trend": "Show a suite's metrics and failure modes by release, and flag changes.",
        "view": "Show all runs, trials and comparisons in a web app on this machine.",
        "import": "Import trajectories of other programs as a run.",
        "export": "Export a run as ATIF or OTLP JSON; send a run, or a suite's cases, to Langfuse.",
    },
    "Trust": {
        "rules": "Learn what passing trials of a suite always do.",
        "judge": "Judge a run by a rubric; manage rubrics, prompts and judges.",
        "annotate": "Label a run by a rubric on a local page, to evaluate judges.",
        "simulator": "Report on the simulated users of a run and on conversations that they made invalid.",
        "drift": "Find tools whose current answers differ from their recordings.",
        "issue": "File drift as issues, and list them.",
    },
    "Improve": {
        "blame": "Find the step that made a trial fail, by intervention.",
        "fork": "Replay a trial up to a step, then continue with one change.",
        "optimise": "Optimise an agent's prompts and confirm the result on held-out cases.",
    },
    "Production": {
        "ingest": "Receive production spans and logs over OTLP.",
        "online": "Score and monitor production sessions.",
        "themes": "Group failures of a run or of production by cause, and file them as issues.",
        "mcp": "Serve read-only verbs and safe actions to coding agents over MCP.",
    },
}
"""Group in the help -> verb -> its line."""
_VERBS: Final = {name: line for group in _GROUPS.values() for name, line in group.items()}

_MODULES = {
    "self-test": Verb("doctor", "self_test_command"),
    "doctor": Verb("doctor", "doctor_command"),
    "merge": Verb("score", "merge_command"),
    "score": Verb("score", "score_command"),
    "runs": Verb("runs", "runs_command"),
    "trials": Verb("runs", "trials_command"),
    "trend": Verb("runs", "trend_command"),
    "compare": Verb("compare", "compare_command"),
    "baseline": Verb("compare", "baseline_command"),
    "explain": Verb("explain", "explain_command"),
    "import": Verb("exchange", "import_command"),
    "export": Verb("exchange", "export_command"),
    "case": Verb("cases"),
    "cassette": Verb("cassette", "cassette_command"),
    "tool": Verb("cassette", "tool_command"),
    "fork": Verb("counterfactual", "fork_command"),
    "rules": Verb("rules", "rules_command"),
    "blame": Verb("counterfactual", "blame_command"),
    "init": Verb("init", "init_command"),
    "image": Verb("images", "image_command"),
    "snapshot": Verb("images", "snapshot_command"),
}
"""Where a verb stands, if that is not `command` of `harness/cli/VERB.py`."""


class Verbs(LazyGroup):
    """The command's own verbs, in groups."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the verbs by group."""
        del ctx
        for title, verbs in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()), col_max=12)


@click.group(
    cls=Verbs,
    verbs={name: _MODULES.get(name, Verb(name))._replace(help=line) for name, line in _VERBS.items()},
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
    help="The evaluation project: the folder with suites/, images/, snapshots/ and cassettes/. Default: the current"
    " folder, or the nearest one above it in the same repository that has suites.",
)
@click.option("--debug", is_flag=True, help="Print a traceback if the harness fails.")
@click.pass_context
def harness(ctx: click.Context, project: str | None, debug: bool) -> None:
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
    ctx.obj = _nearest_project(Path.cwd()) if project is None else Path(project).resolve()
    ctx.meta["harness.debug"] = debug


def _nearest_project(here: "Path") -> "Path":
    """The folder, or the nearest one above it that has suites; nothing above a repository is looked at."""
    for folder in (here, *here.parents):
        if next(folder.glob("suites/*/suite.yaml"), None) is not None:
            return folder
        if (folder / ".git").exists():
            break
    return here


def _show_version(ctx: click.Context) -> None:
    from harness.cli.doctor import version_lines

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
    except SystemExit as left:  # click and rich exit with 1, which means a verdict here, if the reader closed the pipe
        sys.exit(NOBODY_READS if left.code else 0)
    except HarnessError as error:
        sys.exit(_report_error(error, error))
    except (OSError, MemoryError, RuntimeError) as error:
        sys.exit(_report_error(os_error_in_words(error), error))
    finally:
        gc.freeze()  # spares the interpreter's own collection of everything as it ends
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
