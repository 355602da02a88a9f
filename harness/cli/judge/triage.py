"""`harness judge triage`: assigns causes to flagged failures."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.judge.options import rubric_option

if TYPE_CHECKING:
    from harness.judge import Judgement, Triage
    from harness.pipeline import Runs

_CAUSES = ("agent", "judge-false-positive", "tracing-gap")


class Options(TypedDict):
    """The options of `harness judge triage`."""

    case: str | None
    attempt: int
    criterion: str | None
    cause: str | None
    name: str | None
    note: str


@click.command("triage")
@click.argument("run")
@rubric_option
@click.option("--case", "case", metavar="ID", help="Case of the failure.")
@click.option(
    "--attempt", type=click.IntRange(1), default=1, show_default=True, help="Number of the attempt at the case."
)
@click.option("--criterion", metavar="ID", help="Criterion that failed.")
@click.option("--cause", type=click.Choice(_CAUSES), help="Cause of the failure.")
@click.option("--as", "name", metavar="NAME", help="Name of the person who decides.")
@click.option("--note", default="", help="Why.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(project: Path, /, run: str, rubric_name: str, as_json: bool, **options: Unpack[Options]) -> None:
    """List the failures that judges flagged in RUN, or assign a cause to one.

    \b
    harness judge triage tour-v2 --rubric counter
    harness judge triage tour-v2 --rubric counter --case order-003 --criterion complete \\
        --cause judge-false-positive --as ann --note "the tea is on the order"

    Failures caused by the judge or by the tracing are removed from the agent's score. A cause applies to every run with
    the same trajectory. Causes are counted by release in suites/<suite>/labels/<rubric>.triage.jsonl.
    """
    from harness.cli.judge.runs import opened_runs
    from harness.cli.output.console import out, print_json
    from harness.judge import TriageFile, by_release, cause_of, triage_path
    from harness.report import TriageView
    from harness.results import latest, read_judgements

    runs = opened_runs(project, (run,), rubric_name)
    file = TriageFile(triage_path(project, runs.suite, runs.rubric.name))
    judged = latest(read_judgements(runs.folders[0].path, runs.rubric.name)).values()
    flagged = sorted(
        (one for one in judged if one.answer == "fail"), key=lambda one: (one.case_id, one.attempt, one.criterion)
    )
    if options["cause"] is not None:
        file.append(_triage(runs, flagged, options, options["cause"]))
    triages, unreadable = file.read()
    if as_json:
        rows = [
            {
                "case_id": one.case_id,
                "attempt": one.attempt,
                "criterion": one.criterion,
                "cause": cause_of(one, triages),
            }
            for one in flagged
        ]
        print_json({"flagged": rows, "releases": by_release(triages), "unreadable": unreadable})
    else:
        out().print(TriageView(flagged, triages, unreadable))


def _triage(runs: "Runs", flagged: "list[Judgement]", options: Options, cause: str) -> "Triage":
    from pydantic import ValidationError

    from harness.errors import UsageError
    from harness.judge import Triage

    wanted = (options["case"], options["attempt"], options["criterion"])
    if None in wanted or options["name"] is None:
        raise UsageError("--cause needs one failure", remedy="add --case, --criterion and --as NAME")
    found = next((one for one in flagged if (one.case_id, one.attempt, one.criterion) == wanted), None)
    if found is None:
        raise UsageError(
            f"no judge flagged {wanted[2]} of {wanted[0]} attempt {wanted[1]}",
            remedy="run the command without --cause to list the flagged failures",
        )
    manifest = runs.folders[0].manifest
    try:
        return Triage(
            run=manifest.run,
            release=manifest.release,
            case_id=found.case_id,
            attempt=found.attempt,
            trajectory=found.trajectory,
            rubric=found.rubric,
            criterion=found.criterion,
            criterion_version=found.criterion_version,
            cause=cause.replace("-", "_"),
            by=options["name"],
            note=options["note"],
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    except ValidationError:
        raise UsageError(
            f"invalid name {options['name']!r}", remedy="use letters, digits, '.', '_', '@', '-'"
        ) from None
