"""`harness transcript`: prints the transcript of a trial that judges receive."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.results import run_path

if TYPE_CHECKING:
    from harness.judge import Piece, Transcript


class Options(TypedDict):
    """The options of `harness transcript`."""

    views: tuple[str, ...]
    agents: tuple[str, ...]


@click.command("transcript")
@click.argument("run")
@click.argument("case")
@click.option(
    "--attempt", type=click.IntRange(1), default=1, show_default=True, help="Number of the attempt at the case."
)
@click.option("--view", "views", multiple=True, metavar="VIEW", help="Only this view (repeatable); `list` names them.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Only this agent (repeatable); `orchestrator`.")
@click.option("--json", "as_json", is_flag=True, help="Print the pieces as JSON.")
@click.pass_context
def command(
    ctx: click.Context, /, run: str, case: str, attempt: int, as_json: bool, **options: Unpack[Options]
) -> None:
    """Print the trial of CASE in the stored RUN as the compact transcript that judges receive, and its length.

    \b
    harness transcript tour-v2 order-correctness-003
    harness transcript tour-v2 order-correctness-003 --view claims
    harness transcript tour-v2 order-correctness-003 --view "calls:add_*"
    harness transcript tour-v2 order-correctness-003 --view list
    """
    from harness.cli.output.console import print_json
    from harness.judge.transcript import VIEWS, view

    views = options["views"]
    if "list" in views:
        for name, (what, _) in VIEWS.items():
            click.echo(f"{name:16} {what}")
        return
    transcript = _transcript(ctx.obj, run, case, attempt)
    pieces = view(transcript, views or ("everything",), options["agents"])
    if as_json:
        print_json({"raw_chars": transcript.raw_chars, "pieces": [one.model_dump(mode="json") for one in pieces]})
        return
    for piece in pieces:
        said = piece.text.replace(
            "\n", f"\n{'':9}"
        )  # indents further lines, so that no text can imitate a line with a reference
        click.echo(f"{piece.ref:8} {piece.who}: {said}")
    click.echo(_saving(transcript, pieces), err=True)


def _transcript(project: Path, run: str, case: str, attempt: int) -> "Transcript":
    from harness.errors import UsageError
    from harness.judge import build_transcript
    from harness.pipeline import suite_of
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    trial = folder.trial(case, attempt)
    if trial is None:
        known = sorted({one.case_id for one in folder.manifest.planned})
        raise UsageError(
            f"run {folder.manifest.run!r} has no trial {case!r} attempt {attempt}",
            remedy=f"its cases: {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
        )
    suite = suite_of(project, folder)
    return build_transcript(trial, next((one for one in suite.cases if one.id == case), None))


def _saving(transcript: "Transcript", pieces: "list[Piece]") -> str:
    from harness.judge import CHARS_PER_TOKEN

    shown = sum(len(piece.text) for piece in pieces)
    trimmed = sum(piece.trimmed for piece in pieces)
    before, after = transcript.raw_chars // CHARS_PER_TOKEN, shown // CHARS_PER_TOKEN
    saved = 1 - shown / transcript.raw_chars if transcript.raw_chars else 0.0
    return (
        f"about {after} tokens instead of {before} for the trajectory as JSON ({saved:.0%} less); "
        f"{trimmed} characters of results omitted, marked in place"
    )
