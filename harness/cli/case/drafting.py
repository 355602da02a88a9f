"""Prints the case that `harness case from-trace` made from a trial or a session."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import click

from harness.cli.online.group import open_store
from harness.cli.output.console import print_json, say
from harness.errors import ExitCode
from harness.results import run_path
from harness.visible_text import one_line

_SAID = {"passes": "passes", "fails": "fails", "unknown": "neither passes nor fails"}


class DraftOptions(TypedDict):
    """The options of `harness case from-trace`."""

    folder: Path | None
    attempt: int
    suite: str | None
    file: Path | None
    as_json: bool


def from_trial(project: Path, run: str, case: str, options: DraftOptions) -> ExitCode:
    """Of a stored trial."""
    from harness.pipeline import Request, case_from_trace

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
    from harness.pipeline import draft_session_case, store_session_case

    drafted = draft_session_case(open_store(project, options["folder"]), key, project, options["suite"])
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
