"""`harness optimise`: revises an agent's prompts and accepts revisions that held-out cases confirm."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from harness.cli.main import LazyGroup, Verb
from harness.cli.options import Live, PluginType, jobs_option, live_option, run_name, sandbox_option

if TYPE_CHECKING:
    from harness.improve.opening import OptimiseRequest
    from harness.judging.settings import JudgeSettings
    from harness.plugins import Registry


_COMMANDS = {
    "run": "Optimise a suite's prompts; `run` may be omitted.",
    "promote": "Write the accepted candidate as a patch, with the evidence.",
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
    verbs={name: Verb("optimise", f"{name}_command", line) for name, line in _COMMANDS.items()},
)
def command() -> None:
    """Find better prompts for the agent of a suite.

    \b
    harness optimise grocery --mode agent --component cart --from grocery-v1 --rubric trip --reflector gpt-5
    harness optimise grocery --mode joint --rubric trip --reflector gpt-5
    harness optimise promote optimise-grocery-cart-1a2b3c4d --patch cart.patch
    """


# `harness optimise SUITE`: search, choose on validation, confirm on held-out cases.


class Options(TypedDict):
    """The options of `harness optimise SUITE`."""

    mode: Literal["agent", "joint"]
    component: str | None
    trace: str | None
    rubric: str
    optimiser: str
    reflector: str | None
    reflector_rules: Path | None
    rollouts: int
    minibatch: int | None
    max_cost_increase: float
    again: bool
    no_safety: bool
    budget_usd: float | None
    budget_tokens: int | None
    budget_calls: int | None
    budget_minutes: float | None
    live: Live
    user: str | None
    cases: tuple[str, ...]
    run_name: str | None
    sandbox: str
    jobs: int | None


def _optimisers() -> "Registry":
    from harness.improve.search import OPTIMISERS

    return OPTIMISERS


@click.command("run")
@click.argument("suite")
@click.option(
    "--mode",
    type=click.Choice(["agent", "joint"]),
    required=True,
    help="`agent`: one component, whose invocations are replayed alone; `joint`: all components, in whole"
    " conversations.",
)
@click.option("--component", metavar="NAME", help="With --mode agent: name of the component in suite.yaml.")
@click.option(
    "--from", "trace", metavar="RUN", help="Extract the component's invocations from RUN; estimate costs from it."
)
@click.option("--rubric", required=True, metavar="NAME", help="Rubric that scores trials.")
@click.option(
    "--optimiser",
    type=PluginType("optimiser", _optimisers),
    default="gepa",
    show_default=True,
    help="Optimiser whose candidate is used; `random` and `best_of_n` always run as controls with as many rollouts.",
)
@click.option("--reflector", metavar="MODEL", help="The model that revises texts; default: the judge's.")
@click.option(
    "--reflector-rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Instead of a model: a YAML file of edits, which are tried one at a time.",
)
@click.option(
    "--rollouts",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Maximum number of rollouts of each optimiser.",
)
@click.option(
    "--minibatch",
    type=click.IntRange(1),
    help="Number of cases per revision; default: 8, or as few as 3 where the rollouts pay for few revisions.",
)
@click.option(
    "--max-cost-increase",
    type=click.FloatRange(0),
    default=0.2,
    show_default=True,
    help="Share by which mean cost and mean steps may increase.",
)
@click.option("--again", is_flag=True, help="Use the held-out cases a second time; this is recorded.")
@click.option("--no-safety", is_flag=True, help="Begin though no criterion of the rubric is critical or of safety.")
@click.option(
    "--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when the models' cost reaches this amount."
)
@click.option("--budget-tokens", type=click.IntRange(1), help="Stop when the models have used this many tokens.")
@click.option("--budget-calls", type=click.IntRange(1), help="Stop after this many requests to models and services.")
@click.option("--budget-minutes", type=click.FloatRange(0, min_open=True), help="Stop this session after this time.")
@live_option("in rollouts, `model`, because recordings do not match revised agents")
@click.option(
    "--user",
    metavar="KIND",
    help="Kind of simulated user: `script`, `model`, `logged`, `logged:RUN`; default: the cases' setting.",
)
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--run-name", callback=run_name, help="Name of the run folder; default: derived from the options.")
@sandbox_option
@jobs_option
@click.option(
    "--estimate", "only_estimate", is_flag=True, help="Print the maximum number of rollouts and cost, and exit."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def run_command(
    ctx: click.Context, /, suite: str, only_estimate: bool, as_json: bool, **options: Unpack[Options]
) -> None:
    """Optimise the prompts that SUITE declares under `optimise:`.

    \b
    harness optimise grocery --mode agent --component cart --from grocery-v1 --rubric trip --reflector gpt-5
    harness optimise grocery --mode joint --rubric trip --reflector-rules edits.yaml --estimate
    harness optimise grocery --mode joint --rubric trip --reflector gpt-5 --budget-usd 20

    Cases are split into training, validation and held-out cases. A candidate is accepted if it is better on validation
    by more than the noise of judge and simulator, held-out cases confirm it, and no safety criterion gets worse. Exit 1
    if no candidate was accepted or the budget is spent; the same command then continues without repeating requests.
    """
    from harness.cli.console import print_json, say
    from harness.errors import ExitCode
    from harness.gateway.budgets import OutOfBudget
    from harness.improve.opening import prepare_optimisation
    from harness.improve.report import curve_lines, result_lines

    prepared = prepare_optimisation(ctx.obj, _request(ctx.obj, suite, options))
    name, estimate = prepared.stored.folder.name, prepared.estimate
    say(f"{name}: {estimate.text}")
    if estimate.warning is not None:
        say(estimate.warning)
    if only_estimate:
        if as_json:
            print_json(estimate.model_dump(mode="json"))
        return
    try:
        with _interrupt() as stopping:
            outcome = prepared.run(say, stopping)
    except OutOfBudget as error:
        say(f"stopped: {error}; run the same command with a larger budget to continue, no request is repeated")
        ctx.exit(ExitCode.VERDICT)
    except KeyboardInterrupt:
        say("stopped; finished trials are stored. Run the same command to continue, no request is repeated")
        raise
    if as_json:
        print_json({"run": name, **outcome.model_dump(mode="json")})
    else:
        for line in (*curve_lines(outcome), *result_lines(outcome)):
            click.echo(line)
        say(f"harness view shows the candidates and their texts; harness optimise promote {name} hands the result over")
    ctx.exit(ExitCode.VERDICT if outcome.accepted is None else ExitCode.DONE)


@contextmanager
def _interrupt() -> Iterator[Event]:
    """Set by the first Ctrl-C, after which running trials finish; the second one stops them at once."""
    from harness.cli.console import say

    stopping = Event()

    def first(number: int, frame: object) -> None:
        del number, frame
        stopping.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        say("stopping: running trials finish and are stored; press Ctrl-C again to stop them at once")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)


def _request(project: Path, suite: str, options: Options) -> "OptimiseRequest":
    from harness.improve.acceptance import AcceptanceRules
    from harness.improve.candidates import agent_of
    from harness.improve.opening import OptimiseRequest
    from harness.improve.rollouts import SearchBudget
    from harness.improve.sizing import OptimisationSettings
    from harness.runs.plan.plan import RunOptions
    from harness.suite.loading import load_suite

    loaded = load_suite(project, suite)
    minutes = options["budget_minutes"]
    return OptimiseRequest(
        options=RunOptions(
            suite=suite,
            agent=agent_of(loaded)[0],
            tools=options["live"].tools or "replay",
            user=options["user"],
            user_mode=options["live"].model,
            cases=options["cases"],
            sandbox=options["sandbox"],
            jobs=options["jobs"],
        ),
        mode=options["mode"],
        component=options["component"],
        rubric=options["rubric"],
        reflector=options["reflector_rules"] or _reflector(project, loaded.folder, options),
        optimiser=options["optimiser"],
        settings=OptimisationSettings(
            rollouts=options["rollouts"],
            minibatch=options["minibatch"],
            rules=AcceptanceRules(max_cost_increase=options["max_cost_increase"]),
        ),
        limits=SearchBudget(
            usd=options["budget_usd"],
            tokens=options["budget_tokens"],
            calls=options["budget_calls"],
            seconds=None if minutes is None else 60 * minutes,
        ),
        trace=options["trace"],
        again=options["again"],
        no_safety=options["no_safety"],
        run_name=options["run_name"],
    )


def _reflector(project: Path, suite_folder: Path, options: Options) -> "JudgeSettings":
    from harness.judging.settings import judge_settings

    words = "--reflector MODEL, or --reflector-rules FILE"
    return judge_settings(project, suite_folder, {"model": options["reflector"]}, purpose="reflector", options=words)


# `harness optimise promote`: the accepted candidate as a patch for review.


@click.command("promote")
@click.argument("run")
@click.option(
    "--patch",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File for the patch; default: standard output.",
)
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the evidence as Markdown, for `harness issue comment`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print title, evidence, patch and versions as JSON.")
@click.pass_obj
def promote_command(
    project: Path,
    /,
    run: str,
    patch: Path | None,
    evidence: Path | None,
    as_json: bool,
) -> None:
    """Write the candidate that RUN accepted: a version of each changed text in prompts/ with the label `candidate`, and
    a patch of the agent's files for `git apply`, preceded by the evidence.

    \b
    harness optimise promote optimise-grocery-cart-1a2b3c4d --patch cart.patch --evidence cart.md
    git apply cart.patch
    harness issue comment 12 cart.md
    """
    from harness.cli.console import print_json, say
    from harness.disk import write_output
    from harness.improve.outcome import StoredOptimisation
    from harness.improve.promotion import promote
    from harness.runs.store.folder import run_path
    from harness.suite.loading import load_stored_suite

    stored = StoredOptimisation(run_path(project, run))
    made = promote(project, load_stored_suite(project, stored.asked.suite, stored.folder), stored)
    say(f"prompts/: {', '.join(made.versions)}, with the label candidate")
    content = f"{made.title}\n\n{made.evidence}\n\n{made.patch}"
    if patch is not None:
        write_output(patch, content.encode())
        say(str(patch))
    if evidence is not None:
        write_output(evidence, f"{made.evidence}\n".encode())
        say(str(evidence))
    if as_json:
        print_json(made.model_dump(mode="json"))
    elif patch is None:
        click.echo(content, nl=False)
