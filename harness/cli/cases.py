"""`harness case`: checks the cases of a suite, and makes cases from failed trials."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

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
