"""`harness case`: checks the cases of a suite, and makes cases from failed trials."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from harness.cli.console import say
from harness.cli.drafting import from_data
from harness.cli.options import (
    Live,
    attempt_option,
    jobs_option,
    live_option,
    refuse_typed,
    sandbox_option,
    selection_options,
)
from harness.errors import ExitCode, UsageError
from harness.runs.cases.checking import CaseFinding, check_cases
from harness.runs.execution.run import Watch
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.suite.loading import load_suite
from harness.suite.models import ToolMode
from harness.suite.suites import Suite

if TYPE_CHECKING:
    from harness.cli.drafting import DraftOptions
    from harness.improve.mutation import MutationCount, MutationReport


# `harness case new`: asks five questions and writes a case from the answers.


class Answers(TypedDict):
    """The questions, and the options that answer them in advance."""

    task: str
    answer: str
    required: str
    forbidden: str
    case_id: str | None


@click.command("new")
@click.argument("suite")
@click.option("--task", prompt="1. What is the agent's task?", help="The task, as the agent reads it.")
@click.option("--answer", prompt="2. What must its answer contain? (nothing: empty)", default="", show_default=False,
              help="Text that a correct answer contains; empty: the answer is not checked.")  # fmt: skip
@click.option("--required", prompt="3. Which tools must it call? (a, b; none: empty)", default="", show_default=False,
              help="Tools, separated by commas.")  # fmt: skip
@click.option("--forbidden", prompt="4. Which tools must it not call? (a, b; none: empty)", default="",
              show_default=False, help="Tools, separated by commas.")  # fmt: skip
@click.option(
    "--id", "case_id", metavar="ID", help="Id of the case; default: asked, with a proposal from the words of the task."
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file to extend; default: the suite's.",
)
@click.pass_obj
def new(project: Path, /, suite: str, file: Path | None, **answers: Unpack[Answers]) -> None:
    """Ask five questions, and add a case to SUITE.

    \b
    harness case new hello
    harness case new hello --task "Greet Bo" --answer Bo --required "" --forbidden "" --id greet-bo

    The rest of the file is not changed. If the suite cannot be loaded with the case, nothing is written.
    """
    from harness.runs.cases.from_trace import add_new_case
    from harness.suite.loading import load_suite

    found = load_suite(project, suite)
    case_id = answers["case_id"] or click.prompt("5. What is the case called?", default=_proposed(answers["task"]))
    known = [tool.name for tool in found.tools]
    tools = {name: _tools(answers[name], known) for name in ("required", "forbidden")}
    added = add_new_case(project, found, _fields(case_id, answers, tools), file)
    click.echo(f"added {case_id} to {added.file}")
    if not added.listed:
        click.echo(f"name the file in suite.yaml: {added.line}")
    if not (answers["answer"] or any(tools.values()) or found.checks):
        click.echo("the case has no check: its success stays unknown until you add one")
    click.echo(f"next: harness run {suite} --case {case_id}")


def _fields(case_id: str, answers: Answers, tools: dict[str, list[str]]) -> dict[str, object]:
    checks: list[dict[str, object]] = []
    if answers["answer"]:
        checks.append({"name": "answer", "verifier": "final_answer", "with": {"contains": answers["answer"]}})
    checks += [{"name": f"{name}_tools", "verifier": f"{name}_tools"} for name, own in tools.items() if own]
    given = {f"{name}_tools": own for name, own in tools.items() if own}
    return {"id": case_id, "task": answers["task"], **given, "checks": checks}


def _tools(text: str, known: list[str]) -> list[str]:
    from harness.text import alternatives

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"the suite has no tool {name!r}", remedy=alternatives(name, known))
    return names


def _proposed(task: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", task.lower())[:4]
    return "-".join(words) or "case-1"


# `harness case mutate`: finds wrong behaviour that the checks of a suite do not detect.

_SHOWN = 20


class Options(TypedDict):
    """The options of `harness case mutate`."""

    agent: str | None
    most: int
    live: Live
    sandbox: str
    jobs: int | None
    cases: tuple[str, ...]
    only: tuple[str, ...]
    failed_in: str | None
    min_mutation_score: float | None
    against_baseline: bool
    keep: bool
    as_json: bool


@click.command("mutate")
@click.argument("suite")
@click.option("--agent", metavar="VERSION", help="The agent that is mutated; default: the suite's.")
@click.option(
    "--mutants",
    "most",
    type=click.IntRange(1, 1000),
    default=12,
    show_default=True,
    help="Maximum number of mutants of each case.",
)
@live_option("`sealed`")
@sandbox_option
@selection_options
@jobs_option
@click.option(
    "--min-mutation-score", type=click.FloatRange(0, 1), metavar="SHARE", help="Exit 1 if the mutation score is lower."
)
@click.option("--against-baseline", is_flag=True, help="Exit 1 if the mutation score is lower than the baseline's.")
@click.option("--keep", is_flag=True, help="Store the score in the suite's baseline.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def mutate(ctx: click.Context, /, suite: str, **options: Unpack[Options]) -> None:
    """Change one behaviour at a time in every case of SUITE that the agent passes, and list changes that no check
    detects.

    \b
    harness case mutate drive_thru
    harness case mutate drive_thru --sandbox docker-warm --mutants 30
    harness case mutate drive_thru --min-mutation-score 0.9

    The gateway makes the mutants; the agent is not changed. A mutant drops or repeats a call, sends it to a similar
    tool or with another valid argument, adds a write, changes a number of the answer, adds or drops a read, stops
    early, or leaves a required step out. Mutants with the same end state and the same answer are equivalent and not
    counted. Every undetected mutant is printed with a check that would detect it.
    """
    from harness.cli.console import print_json, say
    from harness.improve.mutation import mutate as run_mutants
    from harness.runs.execution.variants import variant_tool_mode
    from harness.runs.plan.plan import RunOptions
    from harness.runs.plan.planning import plan_of
    from harness.runs.store.baseline import keep_mutation_score, mutation_floor, read_baseline
    from harness.suite.loading import load_suite
    from harness.text import one_line

    project: Path = ctx.obj
    loaded = load_suite(project, suite)
    floor = options["min_mutation_score"]
    if options["against_baseline"]:
        floor = max(floor or 0.0, mutation_floor(project, suite, loaded.digest))
    if options["keep"]:
        read_baseline(project, suite, loaded.digest)  # fails before any trial starts if there is no baseline
    model = None if loaded.model is None else options["live"].model or "replay"
    tools = options["live"].tools or variant_tool_mode(loaded)
    wanted = RunOptions(
        suite=suite,
        agent=options["agent"],
        tools=tools,
        model=model,
        sandbox=options["sandbox"],
        jobs=options["jobs"],
        cases=options["cases"],
        only=options["only"],
        failed_in=options["failed_in"],
    )
    plan = plan_of(project, wanted)
    report = run_mutants(plan, options["most"], say)
    if options["as_json"]:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(one_line(line))
    if options["keep"]:
        chosen = len({one.case_id for one in plan.planned})
        if chosen < len(loaded.cases):
            say(f"the stored score of the suite covers {chosen} of {len(loaded.cases)} cases")
        say(f"kept in {keep_mutation_score(project, suite, report.score, report.total.mutants, loaded.digest)}")
    ctx.exit(_status(report, floor))


def _status(report: "MutationReport", floor: float | None) -> ExitCode:
    from harness.cli.console import say

    if floor is None:
        return ExitCode.DONE
    if report.score is None:
        say("gate mutation_score: not measured: no mutant counts")
        return ExitCode.COULD_NOT
    holds = report.score >= floor - 1e-9
    say(f"gate mutation_score >= {floor:g}: {'holds' if holds else 'fails'} ({report.score:.3f})")
    return ExitCode.DONE if holds else ExitCode.VERDICT


def _lines(report: "MutationReport") -> list[str]:
    total = report.total
    score = "not measured" if report.score is None else f"{report.score:.1%}"
    lines = [
        f"{report.suite} {report.agent}: mutation score {score}: {total.noticed} of {total.noticed + total.unnoticed}"
        f" noticed; {total.equivalent} equivalent, {total.unmeasured} not measured",
        f"  {report.trials} trials in {report.seconds:g} s, tools {report.tools}",
    ]
    lines += [f"  {name:<22}{_counted(count)}" for name, count in report.operators.items()]
    lines += [f"  check {name:<16} noticed {count}" for name, count in report.checks.items()]
    if report.not_passed:
        lines.append(f"  not mutated, because the agent does not pass them: {', '.join(report.not_passed)}")
    for hole in report.holes[:_SHOWN]:
        lines.append(f"hole {hole.case_id} step {hole.step}: {hole.words}")
        lines.append(f"  unnoticed  {hole.changed}")
        if hole.proposal is not None:
            lines.append(f"  propose    {_check(hole.proposal)}")
    if len(report.holes) > _SHOWN:
        lines.append(f"and {len(report.holes) - _SHOWN} more holes; --json has all")
    return lines


def _counted(count: "MutationCount") -> str:
    text = f"{count.noticed} of {count.noticed + count.unnoticed} noticed"
    return text + (f", {count.equivalent} equivalent" if count.equivalent else "")


def _check(proposal: dict[str, Any]) -> str:
    import json

    return f"{{verifier: {proposal['verifier']}, with: {json.dumps(proposal['with'], ensure_ascii=False)[:300]}}}"


@click.group("case")
def command() -> None:
    """Check a suite's cases, and draft new ones."""


@command.command("check")
@click.argument("suite")
@live_option("`sealed` if the suite has services and no other servers, else `none`", ("tools", "sealed", "none"))
@sandbox_option
@selection_options
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, /, suite: str, live: Live, as_json: bool, **typed: object) -> None:
    """Run the agents `oracle` and `nop` on SUITE; exit 1 if a case is wrong.

    \b
    harness case check drive_thru

    `oracle` makes the reference calls of a case, replies with its `expected_output`, and must pass it. `nop` does
    nothing and must fail it, unless the case declares `nop_passes: true`.
    """
    from harness.cli.console import print_json, say
    from harness.errors import ExitCode
    from harness.runs.plan.plan import RunOptions

    project: Path = ctx.obj
    findings = check_suite(project, live.tools, RunOptions.model_validate({"suite": suite, **typed}))
    wrong = [finding for finding in findings if finding.problem is not None]
    if as_json:
        print_json([finding.model_dump() for finding in findings])
    for finding in wrong:
        click.echo(f"{finding.case_id}: {finding.problem}", err=as_json)
    for finding in findings:
        if finding.warning is not None:
            click.echo(f"{finding.case_id}: warning: {finding.warning}", err=as_json)
    say(f"{len(findings)} cases checked, {len(wrong)} wrong")
    ctx.exit(ExitCode.VERDICT if wrong else ExitCode.DONE)


@command.command("from-trace")
@click.argument("run", required=False)
@click.argument("case", required=False)
@click.option("--session", "key", metavar="SESSION", help="A production session, instead of RUN and CASE.")
@attempt_option
@click.option("--suite", metavar="SUITE", help="Suite that receives the case; default: the suite of the run.")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file to extend; default: regressions.yaml in the suite's folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the case as JSON.")
@click.pass_context
def from_trace(
    ctx: click.Context, /, run: str | None, case: str | None, key: str | None, **options: "Unpack[DraftOptions]"
) -> None:
    """Make a case with a cassette from the trial of CASE in the stored or imported RUN, or from a production session.

    \b
    harness case from-trace tour-v1 order-correctness-003
    harness case from-trace production refund-17 --suite support
    harness case from-trace --session conversation-17

    The case is named prod-regression-<first 8 digits of the trace id> and describes the failure; each diagnosed failure
    becomes a check. Its limits are those of the case or the suite, wider if a successful trial used more. The case is
    verified at once: the failed trial must fail it, and stored successful trials of the same case must pass it; the
    exit status is 1 otherwise. An existing case is never overwritten. The cassette answers the calls of the trial;
    `harness record SUITE --case ID` adds those of other agents. The user of a session repeats the logged messages;
    missing information is reported.
    """
    from harness.cli.drafting import from_session, from_trial
    from harness.errors import UsageError

    if key is not None and run is None:
        refuse_typed(ctx, ("attempt",), "--session")
        ctx.exit(from_session(ctx.obj, key, options))
    if key is not None or run is None or case is None:
        raise UsageError("give RUN and CASE, or --session")
    ctx.exit(from_trial(ctx.obj, run, case, options))


command.add_command(from_data)
command.add_command(new)
command.add_command(mutate)


# Carries out `harness case check`.


def check_suite(project: Path, mode: ToolMode | None, options: RunOptions) -> tuple[CaseFinding, ...]:
    """The finding of every selected case, in the suite's order; `mode`: None for the suite's own."""
    loaded = load_suite(project, options.suite or "")
    tools = mode or _default_mode(loaded)
    model = None if loaded.model is None else "replay"
    plan = plan_of(project, options.model_copy(update={"tools": tools, "model": model}))

    def watch(agent: str) -> Watch:
        say(f"{agent}: {len(plan.planned)} cases, tools {tools}")
        return Watch(say=say)

    return check_cases(plan, watch)


def _default_mode(suite: Suite) -> ToolMode:
    """`sealed` if all servers with an address are services of the environment, else `replay`."""
    servers = suite.reached.values()
    has_services = any(server.service is not None for server in servers)
    return "sealed" if has_services and not any(one.base_url or one.tool_source for one in servers) else "replay"
