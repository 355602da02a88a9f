"""`harness judge compare`: which of two runs meets a criterion better."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from harness.cli.judge.options import (
    ModelOptions,
    budget_usd_option,
    in_flight_option,
    model_options,
    rubric_option,
    settings_of,
)

if TYPE_CHECKING:
    from harness.pipeline import Paired


class Options(ModelOptions):
    """The options of `harness judge compare`."""

    rubric_name: str
    criterion: str
    prompt_version: str | None
    in_flight: int | None
    budget_usd: float | None
    budget_tokens: int | None
    cases: tuple[str, ...]


@click.command("compare")
@click.argument("run_a")
@click.argument("run_b")
@rubric_option
@click.option("--criterion", required=True, metavar="ID", help="The criterion of the comparison.")
@model_options
@click.option("--prompt", "prompt_version", metavar="VERSION", help="Version of the prompt `compare`.")
@in_flight_option
@budget_usd_option
@click.option("--budget-tokens", type=click.IntRange(1), help="Stop when the judge has used this many tokens.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, with every comparison.")
@click.pass_context
def command(ctx: click.Context, /, run_a: str, run_b: str, as_json: bool, **options: Unpack[Options]) -> None:
    """Say for each case of RUN_A and RUN_B which trajectory meets a criterion better.

    \b
    harness judge compare tour-v1 tour-v2 --rubric counter --criterion complete --model gpt-4.1
    harness judge compare tour-v1 tour-v2 --rubric counter --criterion complete --case order-003 --json

    Attempt k is compared with attempt k, and the judge sees each pair in both orders: a verdict that changes with the
    order is not a preference. Pairs with equal evidence are skipped. Comparisons are added to RUN_B's folder at once;
    pairs that this judge has compared are not sent again, and recorded answers cost nothing. Exit 1 if the judge failed
    at a pair or the budget is spent.
    """
    from harness.cli.output.console import out, print_json, say
    from harness.errors import ExitCode
    from harness.report import PreferenceView

    done = _compare(ctx.obj, (run_a, run_b), options)
    if as_json:
        print_json(done.model_dump(mode="json"))
    else:
        title = f"{done.rubric}: A is {done.run_a}, B is {done.run_b}"
        out().print(PreferenceView(title, [done.score], list(_notes(done))))
    if done.warning is not None:
        say(f"warning: {done.warning}")
    if done.stopped is not None:
        say(f"stopped: {done.stopped}; run the same command to continue")
    ctx.exit(ExitCode.VERDICT if done.stopped or done.score.failed else ExitCode.DONE)


def _compare(project: Path, names: tuple[str, str], options: Options) -> "Paired":
    from harness.cli.judge.runs import opened_runs
    from harness.cli.output.console import say
    from harness.judge import PromptRegistry
    from harness.pipeline import PairRequest, agents_models, compare_pairs, suite_of
    from harness.pipeline.judge.pairing import PROMPT
    from harness.upstream import budget_of

    opened = opened_runs(project, names, options["rubric_name"])
    a, b = opened.folders
    agents = tuple(dict.fromkeys((*agents_models(a), *agents_models(b))))
    settings = settings_of(project, suite_of(project, b).folder, options, agents)
    registry, version = PromptRegistry(project), options["prompt_version"]
    request = PairRequest(
        rubric=opened.rubric,
        criterion=options["criterion"],
        prompt=registry.version(PROMPT, version) if version else registry.get(PROMPT, settings.label),
        settings=settings,
        mode=options["mode"],
        budget=budget_of(options["budget_usd"], options["budget_tokens"], ()),
        cases=options["cases"],
        say=say,
    )
    return compare_pairs(project, a, b, request)


def _notes(done: "Paired") -> list[str]:
    cost = "" if done.usd is None else f", {done.usd:.4f} USD"
    tokens = done.input_tokens + done.output_tokens
    counted = [
        (done.before, "compared before"),
        (done.alike, "have equal evidence and were skipped"),
        (done.not_eligible, "do not both meet the criterion's conditions and were skipped"),
        (done.unmatched, "attempts of B without a measured counterpart in A"),
    ]
    lines = [f"{count} {words}" for count, words in counted if count]
    return [f"{done.calls} calls, {done.recorded} from recordings, {tokens} tokens{cost}", *lines]
