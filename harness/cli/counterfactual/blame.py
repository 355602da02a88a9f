"""`harness blame`: the step that made a trial fail, found by intervention."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.options import TOOL_MODES, jobs_option, sandbox_option
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.case import ToolMode
    from harness.counterfactual import Blame

_SHOWN = 12


class Options(TypedDict):
    """The options of `harness blame`."""

    attempt: int
    budget: int
    repeats: int
    reference_only: bool
    tools: "ToolMode | None"
    sandbox: str
    jobs: int | None
    run_name: str | None
    as_json: bool


@click.command("blame")
@click.argument("run")
@click.argument("case")
@click.option(
    "--attempt", type=click.IntRange(1), default=1, show_default=True, help="Number of the attempt at the case."
)
@click.option(
    "--budget",
    type=click.IntRange(1, 10_000),
    default=40,
    show_default=True,
    help="Maximum number of trials; 2 x repeats - 1 of them confirm the cause.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Number of trials that confirm the cause.",
)
@click.option("--reference-only", is_flag=True, help="Use the case's reference alone, not a passing trial of the case.")
@click.option(
    "--tools",
    type=click.Choice(TOOL_MODES[:3]),
    help="Tool mode after a change; default: `sealed`, answered by the suite's services.",
)
@sandbox_option
@jobs_option
@click.option("--run-name", metavar="NAME", help="Name of the run folder that stores the successful fork.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(ctx: click.Context, /, run: str, case: str, **options: Unpack[Options]) -> None:
    """Find the earliest single change that makes the failed trial of CASE in the stored RUN succeed.

    \b
    harness blame tour-v1 order-correctness-003
    harness blame tour-v1 order-correctness-003 --budget 80 --repeats 5
    harness blame tour-v1 order-correctness-003 --reference-only --json

    Changes come from the case's reference, from a passing trial of the case, and from the faults that were injected
    into the trial. Each change is tried in a separate sandbox. If no single change is enough, the smallest sufficient
    set is searched. The exit status is 1 if no cause is found; the output then gives the reason.
    """
    from harness.cli.output.console import print_json, say
    from harness.counterfactual import BlameRequest, blame, open_subject
    from harness.pipeline import RunOptions, passing_attempts
    from harness.results import RunFolder, run_path
    from harness.visible_text import one_line

    project: Path = ctx.obj
    subject = open_subject(project, run, case, options["attempt"])
    folder = RunFolder.open(run_path(project, run))
    known = [] if options["reference_only"] else passing_attempts(project, folder, case)
    request = BlameRequest(
        options=RunOptions(sandbox=options["sandbox"], jobs=options["jobs"]),
        tools=options["tools"],
        budget=options["budget"],
        repeats=options["repeats"],
        passing=known[0].stored.trial if known else None,
        name=options["run_name"],
    )
    found = blame(subject, request, say)
    if options["as_json"]:
        print_json(found.model_dump(mode="json"))
    else:
        for line in _lines(found, case):
            click.echo(one_line(line))
    ctx.exit(ExitCode.DONE if found.cause is not None else ExitCode.VERDICT)


def _lines(found: "Blame", case: str) -> list[str]:
    basis = ", ".join(one.replace("_", " ") for one in found.basis) or "nothing"
    lines = [f"{found.trial}  symptom  {found.symptom}"]
    cause = found.cause
    if cause is None:
        lines.append(f"  no cause found: {found.reason}")
    else:
        place = "step" if len(cause.steps) == 1 else "the smallest set, steps"
        lines.append(f"  cause     {place} {', '.join(map(str, cause.steps))}: {cause.words}")
        lines.append(
            f"  with it   succeeds in {cause.mended} of {cause.repeats}; without in {cause.unchanged_successes}"
            f" of {cause.repeats}; confidence at least {cause.confidence:.2f}"
        )
        if cause.untried_earlier:
            steps = ", ".join(map(str, cause.untried_earlier))
            lines.append(f"  not tried changes at the earlier steps {steps}: the cause may be there")
        if cause.untried_sets:
            lines.append(
                f"  not tried {cause.untried_sets} smaller sets, because the budget is spent: fewer steps may be enough"
            )
    guesses = ", ".join(map(str, found.guesses[:3])) or "none"
    lines.append(f"  detectors estimate step {guesses} from the trajectory alone")
    lines.append(f"  tried     {found.trials} trials, tools {found.tools}; changes by {basis}")
    for one in found.candidates[:_SHOWN]:
        mark = {True: "succeeds", False: "fails", None: one.outcome.replace("_", " ")}[one.success]
        lines.append(f"    step {one.step:<3} {mark:<12} {one.words}")
    if len(found.candidates) > _SHOWN:
        lines.append(f"    and {len(found.candidates) - _SHOWN} more")
    if found.run is not None:
        lines.append(f"  the fork that succeeds: harness explain {found.run} {case}")
    return lines
