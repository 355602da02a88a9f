"""Cases made from trials, production sessions and data sets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import click

from harness.cli.console import print_json, say
from harness.cli.online import open_store
from harness.errors import ExitCode
from harness.runs.store.folder import run_path
from harness.text import one_line

if TYPE_CHECKING:
    from harness.values import JsonObject


# Prints the case that `harness case from-trace` made from a trial or a session.

_SAID = {"passes": "passes", "fails": "fails", "unknown": "neither passes nor fails"}


class DraftOptions(TypedDict):
    """The options of `harness case from-trace`."""

    attempt: int
    suite: str | None
    file: Path | None
    as_json: bool


def from_trial(project: Path, run: str, case: str, options: DraftOptions) -> ExitCode:
    """Of a stored trial."""
    from harness.runs.cases.from_trace import Request, case_from_trace

    request = Request(
        run=run_path(project, run),
        case_id=case,
        attempt=options["attempt"],
        suite=options["suite"],
        file=options["file"],
    )
    done = case_from_trace(project, request)
    proof = done.proof
    holds = proof.holds or done.succeeded
    if options["as_json"]:
        fields = {"suite": done.suite, "file": done.file, "cassette": done.cassette, "line": done.line}
        fields |= {"listed": done.listed, "notes": done.notes, "failing": proof.failing, "passing": proof.passing}
        _print_json(done.case.id, fields)
        return ExitCode.DONE if holds else ExitCode.VERDICT
    click.echo(f"{done.case.id}  {done.file}")
    if done.cassette is not None:
        click.echo(f"  cassette  {done.cassette}")
    _say_notes(done.case.id, done.notes, None if done.listed else done.line)
    click.echo(f"  the trial it was made from {_SAID[proof.failing]} it")
    for name, answer in proof.passing.items():
        click.echo(f"  {name}, which succeeded, {_SAID[answer]} it")
    if not proof.passing:
        click.echo("  no stored trial succeeded: whether the case can be passed is unknown")
    if not holds:
        say(f"{done.case.id}: not verified; read its checks before you rely on it")
    say(f"then: harness run {done.suite} --case {done.case.id}")
    return ExitCode.DONE if holds else ExitCode.VERDICT


def from_session(project: Path, key: str, options: DraftOptions) -> ExitCode:
    """Of a session of production."""
    from harness.production.session_case import draft_session_case, store_session_case

    drafted = draft_session_case(open_store(project), key, project, options["suite"])
    done = store_session_case(project, drafted, options["file"])
    case_id, failing = drafted.case.id, drafted.proof.failing
    status = ExitCode.DONE if failing == "fails" else ExitCode.VERDICT
    if options["as_json"]:
        fields = {"suite": drafted.suite.name, "file": done.file, "cassette": done.cassette, "line": done.line}
        fields |= {"listed": done.listed, "notes": drafted.notes, "failing": failing, "passing": {}}
        _print_json(case_id, fields)
        return status
    click.echo(f"{case_id}  {done.file}")
    click.echo(f"  cassette  {done.cassette}")
    _say_notes(case_id, drafted.notes, None if done.listed else done.line)
    click.echo(f"  the session it was made from {_SAID[failing]} it")
    say(f"then: harness run {drafted.suite.name} --case {case_id}")
    return status


def _say_notes(case_id: str, notes: Iterable[str], line: str | None) -> None:
    for note in notes:
        say(one_line(f"{case_id}: {note}"))
    if line is not None:
        say(f"suite.yaml does not list that file yet; set  {line}")


def _print_json(case_id: str, fields: Mapping[str, Any]) -> None:
    print_json({"case": case_id} | {name: str(one) if isinstance(one, Path) else one for name, one in fields.items()})


# Where the rows of `harness case from-data` come from: a file, or a dataset of Langfuse.

_LANGFUSE: Final = "langfuse:"
_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)


@dataclass(frozen=True)
class Data:
    """A named source of rows."""

    path: Path
    """The file, or `langfuse:NAME`, by which messages name the source."""
    dataset: str | None = None
    """The dataset of Langfuse; None: a file."""

    @property
    def stem(self) -> str:
        """The name without what a file cannot have in its name."""
        if self.dataset is None:
            return self.path.stem
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.dataset).strip(".-") or "dataset"

    def rows(self) -> "list[JsonObject] | None":
        """None: they stand in the file."""
        if self.dataset is None:
            return None
        from harness.gateway.upstream.langfuse import LangfuseClient
        from harness.production.langfuse_dataset import dataset_rows

        return dataset_rows(LangfuseClient.from_environment(), self.dataset)


class DataSource(click.ParamType[Data]):
    """A file that exists, or `langfuse:NAME`."""

    name = "file|langfuse:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Data:
        if isinstance(value, Data):
            return value
        text = str(value)
        if not text.startswith(_LANGFUSE) or Path(text).is_file():
            return Data(Path(_FILE.convert(text, param, ctx)))
        dataset = text.removeprefix(_LANGFUSE)
        if not dataset:
            self.fail("expected the name of a dataset behind `langfuse:`", param, ctx)
        return Data(Path(text), dataset)


# `harness case from-data`: makes cases from the rows of a data set.

_ROWS_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


class DataValues(TypedDict):
    """The options of `harness case from-data`."""

    template: Path | None
    as_tasks: bool
    output: Path | None
    replace: bool


@click.command("from-data")
@click.argument("suite")
@click.argument("file", type=DataSource())
@click.option("--template", type=_ROWS_FILE, help="A case that contains {{column}} as placeholder of a row's value.")
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
    harness case from-data support langfuse:support-questions --template question.yaml
    harness case from-data retail tasks.json --tau2

    In a template, {{column}} stands for the row's value, and {{row}} for its number from 1. A text that is nothing else
    is replaced by the value itself: a number of a .jsonl file stays a number. If a row makes no valid case, the message
    names its line, and nothing is written. An item of a Langfuse dataset has the columns id, input, expected_output and
    metadata, and input.FIELD and so on for each field of an object; its line is its number.

    A task of tau2-bench that no case can represent is left out and listed.
    """
    from harness.errors import UsageError
    from harness.runs.cases.from_data import cases_of_rows, cases_of_tasks, write_cases
    from harness.suite.loading import load_suite

    template = options["template"]
    if (template is not None) == options["as_tasks"]:
        raise UsageError("the kind of the rows is not given", remedy="either --template FILE or --tau2")
    found = load_suite(project, suite)
    target = (options["output"] or found.folder / f"{file.stem}.yaml").resolve()
    if target == (found.folder / "suite.yaml").resolve():
        raise UsageError(f"{target} is the suite itself, and no case file", remedy="name another file: -o FILE")
    left_out: dict[str, str] = {}
    if template is None:
        cases, left_out = cases_of_tasks(file.path, [tool.name for tool in found.tools if tool.effect == "read"])
    else:
        cases = cases_of_rows(file.path, template, rows=file.rows())
    write_cases(found, file.path, cases, target, replace=options["replace"])
    click.echo(f"wrote {len(cases)} cases to {target}")
    for task, reason in left_out.items():
        click.echo(f"left out {task}: {reason}")
    if not set(map(str, (case["id"] for case in cases))) <= {case.id for case in load_suite(project, suite).cases}:
        click.echo(f"name the file in suite.yaml: cases: [..., {target.name}]")
