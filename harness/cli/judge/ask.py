"""`harness judge ask`: judges one answer: pass or fail."""

from pathlib import Path
from typing import Unpack

import click

from harness.cli.judge.options import ModelOptions, model_options, settings_of


class Options(ModelOptions):
    """The options of `harness judge ask`."""

    statement: str
    question: str | None
    answer: str
    reference: str | None


@click.command("ask")
@click.option(
    "--criterion", "statement", required=True, metavar="TEXT", help="The criterion that the answer has to meet."
)
@click.option("--question", metavar="TEXT", help="The question.")
@click.option("--answer", required=True, metavar="TEXT", help="The answer; @FILE reads it from a file.")
@click.option("--reference", metavar="TEXT", help="A correct answer for comparison; @FILE reads it from a file.")
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print the judgement as JSON.")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **options: Unpack[Options]) -> None:
    """Judge one answer by one criterion; exit 1 for a fail, 3 where the judge itself failed.

    \b
    harness judge ask --criterion "Names the right city." --question "Capital of France?" \\
        --answer "It is Paris." --reference "Paris" --model my-model --base-url http://127.0.0.1:8000/v1
    """
    from harness.cli.output.console import print_json, say
    from harness.errors import ExitCode
    from harness.judge import PromptRegistry, SingleJudgement, judge_single

    project: Path = ctx.obj
    settings = settings_of(project, None, options)
    single = SingleJudgement(
        statement=options["statement"],
        question=options["question"],
        answer=_text(options["answer"]),
        reference=None if options["reference"] is None else _text(options["reference"]),
    )
    prompt = PromptRegistry(project).get("judge", settings.label)
    said = judge_single(project, single, settings, prompt, options["mode"], say)
    if as_json:
        print_json(said.model_dump(mode="json"))
    else:
        click.echo(f"{said.answer.replace('_', ' ')}: {said.failure or said.rationale}")
    ctx.exit(ExitCode.DONE if said.passed else ExitCode.COULD_NOT if said.failure else ExitCode.VERDICT)


def _text(given: str) -> str:
    from harness.errors import UsageError

    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{given[1:]} cannot be read: {error}") from None
