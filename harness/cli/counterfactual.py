"""`harness fork` and `harness blame`: stored trials replayed with a change."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from harness.cli.options import Live, attempt_option, jobs_option, live_option, sandbox_option
from harness.errors import ExitCode, UsageError
from harness.reports.units import p_words

if TYPE_CHECKING:
    from harness.improve.blame import Blame, BlamedCause
    from harness.improve.forks import ForkChange, ForkResult
    from harness.suite.cases import FaultSpec


# `harness fork`: replays a stored trial up to a step and continues with one change.

_FAULTS = ("timeout", "reset", "empty", "malformed", "429", "500", "503")


class ForkOptions(TypedDict):
    """The options of `harness fork`."""

    attempt: int
    step: int
    answer: Path | None
    call: str | None
    arguments: Path | None
    oracle: bool
    drop: bool
    hint: str | None
    fault: str | None
    agent: str | None
    live: Live
    trials: int
    sandbox: str
    jobs: int | None
    run_name: str | None
    as_json: bool


@click.command("fork")
@click.argument("run")
@click.argument("case")
@attempt_option
@click.option(
    "--at",
    "step",
    required=True,
    type=click.IntRange(0),
    metavar="STEP",
    help="Step to fork at; `harness explain` lists the steps.",
)
@click.option(
    "--answer",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Answer the tool call of the step with the JSON in FILE.",
)
@click.option("--call", metavar="TOOL", help="Replace the tool call of the step by a call of TOOL.")
@click.option(
    "--arguments",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="With --call: the arguments as a JSON object; default: those of the step.",
)
@click.option("--oracle", is_flag=True, help="Replace the tool call of the step by the reference's.")
@click.option(
    "--drop", is_flag=True, help="Do not make the tool call of the step; the agent receives the recorded answer."
)
@click.option("--hint", metavar="TEXT", help="Send TEXT as the user's message after the agent's next reply.")
@click.option("--fault", type=click.Choice(_FAULTS), help="Inject this fault into the tool call of the step.")
@click.option("--agent", metavar="VERSION", help="Continue with another version of the agent.")
@live_option("after the fork, `sealed`")
@click.option("--trials", type=click.IntRange(1, 100), default=1, show_default=True, help="Number of forks.")
@sandbox_option
@jobs_option
@click.option("--run-name", metavar="NAME", help="Name of the run folder that stores the forks.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def fork_command(ctx: click.Context, /, run: str, case: str, **options: Unpack[ForkOptions]) -> None:
    """Replay the trial of CASE in the stored RUN up to STEP, then continue with one change.

    \b
    harness fork tour-v1 order-correctness-003 --at 2
    harness fork tour-v1 order-correctness-003 --at 2 --oracle
    harness fork tour-v1 order-correctness-003 --at 2 --answer none_found.json
    harness fork tour-v1 order-correctness-003 --at 2 --fault timeout --trials 5

    The agent is started again and receives the recorded answers. If a step before STEP differs from the trial, the fork
    ends with exit status 1. Without a change, the fork shows whether the agent is deterministic. Forks are stored as
    trials in a separate run folder. The exit status is 3 if the harness could not run a fork.
    """
    from harness.cli.console import print_json, say
    from harness.improve.forks import ForkRequest, fork
    from harness.improve.subject import open_subject
    from harness.runs.plan.plan import RunOptions
    from harness.text import one_line

    project: Path = ctx.obj
    subject = open_subject(project, run, case, options["attempt"])
    wishes = RunOptions(
        agent=options["agent"], model=options["live"].model, sandbox=options["sandbox"], jobs=options["jobs"]
    )
    request = ForkRequest(
        step=options["step"],
        change=_change(options),
        options=wishes,
        tools=options["live"].tools,
        repeats=options["trials"],
        name=options["run_name"],
    )
    result = fork(subject, request, say)
    if options["as_json"]:
        print_json(result.model_dump(mode="json") | {"determinism": result.determinism, "failed": result.failed})
    else:
        for line in _fork_lines(result):
            click.echo(one_line(line))
    if result.failed:
        ctx.exit(ExitCode.COULD_NOT)
    ctx.exit(ExitCode.DONE if result.determinism == 1 else ExitCode.VERDICT)


def _change(options: ForkOptions) -> "ForkChange":
    from harness.improve.forks import ForkChange
    from harness.suite.interventions import Invocation

    if options["arguments"] is not None and options["call"] is None:
        raise UsageError("--arguments needs --call", remedy="add --call TOOL")
    given = {
        "answer": options["answer"],
        "call": options["call"],
        "oracle": options["oracle"],
        "drop": options["drop"],
        "fault": options["fault"],
    }
    instead = [name for name, value in given.items() if value]
    if len(instead) > 1:
        raise UsageError(
            f"--{' and --'.join(instead)} exclude each other: they change the same call", remedy="give one of them"
        )
    call = None
    if options["call"] is not None and options["arguments"] is not None:
        arguments = _json_of(options["arguments"])
        if not isinstance(arguments, dict):
            raise UsageError(f"{options['arguments']}: expected a JSON object of arguments")
        call = Invocation(tool=options["call"], arguments=arguments)
    return ForkChange(
        answer=None if options["answer"] is None else (_json_of(options["answer"]),),
        call=call,
        tool=options["call"] if call is None else None,
        oracle=options["oracle"],
        drop=options["drop"],
        hint=options["hint"],
        fault=None if options["fault"] is None else _fault(options["fault"]),
    )


def _fault(name: str) -> "FaultSpec":
    from harness.suite.cases import FaultSpec

    if name.isdecimal():
        return FaultSpec(tool="*", kind="http_status", status=int(name), call=1)
    return FaultSpec.model_validate({"tool": "*", "kind": name, "call": 1})


def _json_of(path: Path) -> Any:
    from harness.values import NotJson, parse_json

    try:
        return parse_json(path.read_bytes())
    except NotJson as error:
        raise UsageError(f"{path}: expected JSON: {error}") from None


def _fork_lines(result: "ForkResult") -> list[str]:
    words = {True: "succeeds", False: "fails", None: "cannot be determined"}
    lines = [
        f"{result.parent}  forked at step {result.step}; change: {result.change}; tools {result.tools}",
        f"  original trial     {words[result.parent_success]}",
    ]
    for one in result.trials:
        line = f"  fork {one.attempt:<13} {words[one.success]} ({one.outcome})"
        line += "; same end as the original trial" if one.same_end else ""
        lines.append(line)
        if one.reason is not None:
            lines.append(f"    {one.reason}")
    if result.change == "none" and not any(one.same_end or one.outcome == "harness_failed" for one in result.trials):
        lines.append("  none ends as the original trial: the agent, or what answers it, is not deterministic")
    if result.failed:
        lines.append(f"  {result.failed} of {len(result.trials)} forks could not be run; they are not counted")
    if result.determinism is not None and result.determinism < 1:
        share = f"{result.determinism:.0%} of {len(result.trials) - result.failed}"
        lines.append(f"  not deterministic: {share} forks repeated the steps before step {result.step}")
    lines.append(f"  stored as {result.run}; see: harness explain {result.run} {result.parent.split('/')[1]}")
    return lines


# `harness blame`: the step that made a trial fail, found by intervention.


class BlameOptions(TypedDict):
    """The options of `harness blame`."""

    attempt: int
    budget: int
    repeats: int
    confidence: float
    reference_only: bool
    live: Live
    sandbox: str
    jobs: int | None
    run_name: str | None
    whole: bool
    as_json: bool


@click.command("blame")
@click.argument("run")
@click.argument("case")
@attempt_option
@click.option(
    "--budget",
    type=click.IntRange(1, 10_000),
    default=40,
    show_default=True,
    help="Maximum number of trials; 2 x repeats of them confirm the cause.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Number of trials with the change, and without, that confirm the cause; 1: none does.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="1 minus the level at which the change must beat chance, by Fisher's exact test.",
)
@click.option("--reference-only", is_flag=True, help="Use the case's reference alone, not a passing trial of the case.")
@live_option("after a change, the suite's services: `tools` if trials can share them, else `sealed`")
@sandbox_option
@jobs_option
@click.option("--run-name", metavar="NAME", help="Name of the run folder that stores the successful fork.")
@click.option("--all", "whole", is_flag=True, help="Print every change that was tried, and the detectors' steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def blame_command(ctx: click.Context, /, run: str, case: str, **options: Unpack[BlameOptions]) -> None:
    """Find the earliest single change that makes the failed trial of CASE in the stored RUN succeed.

    \b
    harness blame tour-v1 order-correctness-003
    harness blame tour-v1 order-correctness-003 --budget 80 --repeats 5
    harness blame tour-v1 order-correctness-003 --reference-only --json
    harness blame support-v1 refund --live model --repeats 8 --budget 60

    Changes come from the case's reference, from a passing trial of the case, and from the faults that were injected
    into the trial. Each change is tried in a separate sandbox. If no single change is enough, sets are searched by
    halving. What is found is tried again, and so is no change: a difference that chance explains is no cause. A
    replaced answer counts only if nothing else is enough, as "the answer itself". The exit status is 1 if no cause is
    confirmed; the output then gives the reason.
    """
    from harness.cli.console import print_json, say
    from harness.improve.blame import BlameRequest, blame
    from harness.improve.subject import open_subject
    from harness.runs.cases.drafting import passing_attempts
    from harness.runs.plan.plan import RunOptions
    from harness.runs.store.folder import RunFolder, run_path
    from harness.text import one_line

    project: Path = ctx.obj
    subject = open_subject(project, run, case, options["attempt"])
    folder = RunFolder.open(run_path(project, run))
    known = [] if options["reference_only"] else passing_attempts(project, folder, case)
    request = BlameRequest(
        options=RunOptions(model=options["live"].model, sandbox=options["sandbox"], jobs=options["jobs"]),
        tools=options["live"].tools,
        budget=options["budget"],
        repeats=options["repeats"],
        confidence=options["confidence"],
        passing=known[0].stored.trial if known else None,
        name=options["run_name"],
    )
    found = blame(subject, request, say)
    if options["as_json"]:
        print_json(found.model_dump(mode="json"))
    else:
        for line in _blame_lines(found, case, whole=options["whole"]):
            click.echo(one_line(line))
    confirmed = found.cause is not None and found.cause.p_value is not None
    ctx.exit(ExitCode.DONE if confirmed else ExitCode.VERDICT)


def _blame_lines(found: "Blame", case: str, *, whole: bool) -> list[str]:
    lines = [f"{found.trial}  symptom  {found.symptom}"]
    cause = found.cause
    if cause is None:
        lines.append(f"  no cause found: {found.reason}")
    else:
        place = "step" if len(cause.steps) == 1 else "the smallest set, steps"
        lines.append(f"  cause     {place} {', '.join(map(str, cause.steps))}: {cause.words}")
        lines.append(f"  {_confirmed(cause)}")
    basis = ", ".join(one.replace("_", " ") for one in found.basis) or "nothing"
    alone = sum(one.outcome != "not_tried" for one in found.candidates)
    tried = f"{alone} of {len(found.candidates)} changes alone, {found.sets} sets"
    lines.append(
        f"  tried     {found.trials} trials, tools {found.tools}: {tried}; changes by {basis}{_untried(cause)}"
    )
    if found.run is not None:
        lines.append(f"  the fork that succeeds: harness explain {found.run} {case}")
    if whole:
        lines.append(
            f"  detectors estimate step {', '.join(map(str, found.guesses)) or 'none'} from the trajectory alone"
        )
        for one in found.candidates:
            mark = {True: "succeeds", False: "fails", None: one.outcome.replace("_", " ")}[one.success]
            lines.append(f"    step {one.step:<3} {mark:<12} {one.words}")
    return lines


def _confirmed(cause: "BlamedCause") -> str:
    if cause.p_value is None:
        return "not confirmed: it succeeded once; --repeats 3 tells it from chance"
    without = f"without in {cause.unchanged_successes} of {cause.unchanged_repeats}"
    return f"with it   passes in {cause.mended} of {cause.repeats}; {without}; {p_words(cause.p_value)} against chance"


def _untried(cause: "BlamedCause | None") -> str:
    if cause is not None and cause.untried_earlier:
        steps = ", ".join(map(str, cause.untried_earlier))
        return f"; not tried: changes at the earlier steps {steps}: the cause may be there"
    if cause is not None and cause.untried_sets:
        return f"; not tried: {cause.untried_sets} smaller sets: fewer steps may be enough"
    return ""
