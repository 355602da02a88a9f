"""`harness case from-data`: makes cases from the rows of a data set."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from harness.cli.case.data_source import Data, DataSource

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


class DataValues(TypedDict):
    """The options of `harness case from-data`."""

    template: Path | None
    as_samples: bool
    as_tasks: bool
    output: Path | None
    replace: bool


@click.command("from-data")
@click.argument("suite")
@click.argument("file", type=DataSource())
@click.option("--template", type=_FILE, help="A case that contains {{column}} as placeholder of a row's value.")
@click.option(
    "--inspect", "as_samples", is_flag=True, help="Read the rows as samples of Inspect: input, target, choices."
)
@click.option("--tau2", "as_tasks", is_flag=True, help="Read FILE as the `tasks.json` of a domain of tau2-bench.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file; default: the name of FILE with .yaml in the suite's folder.",
)
@click.option("--replace", is_flag=True, help="Replace the case file where it exists.")
@click.pass_obj
def from_data(project: Path, /, suite: str, file: Data, **options: Unpack[DataValues]) -> None:
    """Make one case of SUITE of each row of FILE, a .jsonl or .csv file, or of each item of `langfuse:DATASET`.

    \b
    harness case from-data geography capitals.csv --template capital.yaml
    harness case from-data trivia samples.jsonl --inspect
    harness case from-data support langfuse:support-questions --template question.yaml
    harness case from-data retail tasks.json --tau2

    In a template, {{column}} stands for the row's value, and {{row}} for its number from 1. A text that is nothing else
    is replaced by the value itself: a number of a .jsonl file stays a number. If a row makes no valid case, the message
    names its line, and nothing is written. An item of a Langfuse dataset has the columns id, input, expected_output and
    metadata, and input.FIELD and so on for each field of an object; its line is its number.

    A task of tau2-bench that no case can represent is left out and listed.
    """
    from harness.case import load_suite
    from harness.errors import UsageError
    from harness.pipeline import cases_of_rows, cases_of_tasks, write_cases

    if sum((options["template"] is not None, options["as_samples"], options["as_tasks"])) != 1:
        raise UsageError("the kind of the rows is not given", remedy="--template FILE, --inspect or --tau2")
    found = load_suite(project, suite)
    target = (options["output"] or found.folder / f"{file.stem}.yaml").resolve()
    if target == (found.folder / "suite.yaml").resolve():
        raise UsageError(f"{target} is the suite itself, and no case file", remedy="name another file: -o FILE")
    left_out: dict[str, str] = {}
    if options["as_tasks"]:
        cases, left_out = cases_of_tasks(file.path, [tool.name for tool in found.tools if tool.effect == "read"])
    else:
        cases = cases_of_rows(file.path, options["template"], rows=file.rows())
    write_cases(found, file.path, cases, target, replace=options["replace"])
    click.echo(f"wrote {len(cases)} cases to {target}")
    for task, reason in left_out.items():
        click.echo(f"left out {task}: {reason}")
    if not set(map(str, (case["id"] for case in cases))) <= {case.id for case in load_suite(project, suite).cases}:
        click.echo(f"name the file in suite.yaml: cases: [..., {target.name}]")
