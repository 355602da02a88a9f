"""`harness explain`: one trial step by step, and as judges receive it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import attempt_option, refuse_typed
from harness.runs.store.folder import run_path

if TYPE_CHECKING:
    from harness.judging.transcripts import Piece, Transcript
    from harness.runs.store.folder import RunFolder
    from harness.scoring.scorecard import Scorecard
    from harness.traces.trial import Trial


_SUCCESS = {True: "passed", False: "failed", None: "unknown"}

# `harness explain`: shows a trial step by step with its diagnosis.


@click.command("explain")
@click.argument("run")
@click.argument("case", required=False)
@attempt_option
@click.option(
    "--width", type=click.IntRange(40), default=400, show_default=True, help="Maximum number of characters of a text."
)
@click.option("--model", "as_model", is_flag=True, help="Show complete requests to the model and its answers.")
@click.option("--judged", "with_judge", is_flag=True, help="Include findings of a judge by the rubric failure_modes.")
@click.option(
    "--transcript",
    "views",
    multiple=True,
    metavar="VIEW",
    help="Instead, print the compact transcript that judges receive: `everything`, or a part such as `claims` or"
    " `calls:add_*` (repeatable); `list` names the parts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the trial and its scorecard as JSON.")
@click.pass_context
def explain_command(
    ctx: click.Context,
    /,
    run: str,
    case: str | None,
    attempt: int,
    width: int,
    views: tuple[str, ...],
    **shown: bool,
) -> None:
    """Print the trajectory of CASE in the stored RUN, with the diagnosis at its steps.

    For a failed trial, the output begins with the cause, if `harness blame` has found it, and with the most probable
    steps of the failure. Without CASE, the verb lists the cases of RUN.

    \b
    harness explain tour-v1 order-correctness-003
    harness explain tour-v1 order-correctness-003 --model
    harness explain tour-v1 order-correctness-003 --judged
    harness explain tour-v1 order-correctness-003 --transcript everything
    harness explain tour-v1 order-correctness-003 --transcript "calls:add_*"
    """
    from harness.runs.store.folder import RunFolder

    folder = RunFolder.open(run_path(ctx.obj, run))
    if views:
        refuse_typed(ctx, ("width", "as_model", "with_judge"), "--transcript")
    if shown["as_model"]:
        refuse_typed(ctx, ("width", "with_judge"), "--model")
    if case is None:
        _list_cases(ctx, folder)
    elif views:
        _show_transcript(ctx.obj, folder, _chosen(folder, case, attempt)[0], views, as_json=shown["as_json"])
    elif shown["as_model"]:
        _show_model(folder, _chosen(folder, case, attempt)[1].case_id, attempt, shown["as_json"])
    else:
        _show_trial(ctx.obj, folder, _chosen(folder, case, attempt), width, shown)


def _list_cases(ctx: click.Context, folder: "RunFolder") -> None:
    refuse_typed(ctx, [one.name or "" for one in ctx.command.params if isinstance(one, click.Option)], "no CASE")
    for card in _failed_first(folder):
        click.echo(f"{card.case_id:40} {card.attempt:3}  {_SUCCESS[card.success]}")


def _show_trial(
    project: Path, folder: "RunFolder", chosen: "tuple[Trial, Scorecard]", width: int, shown: dict[str, bool]
) -> None:
    from harness.cli.console import print_json
    from harness.reports.render.trajectory import explained
    from harness.runs.store.beside_trials import cause_of
    from harness.scoring.findings.facts import outdated, suspects

    trial, found = chosen
    attempt, run = found.attempt, folder.manifest.run
    missing: dict[str, str] = {}
    if shown["with_judge"]:
        found, missing = _with_judge(project, folder, found)
    kept = cause_of(folder, found.case_id, attempt)
    if shown["as_json"]:
        named = suspects(found.diagnoses, trial.trajectory, success=found.success, rules=found.rules)
        print_json(
            {
                "trial": trial.model_dump(mode="json"),
                "scorecard": found.model_dump(mode="json"),
                "suspects": [one.model_dump(mode="json") for one in named],
                "not_judged": missing,
                "cause": None if kept is None else kept.model_dump(mode="json"),
            }
        )
        return
    for line in explained(trial, found, width, cause=kept):
        click.echo(line)
    for criterion, reason in missing.items():
        click.echo(f"not judged: {criterion.replace('_', ' ')}: {reason}")
    if found.success is False and kept is None and all(one.kind == "unexplained" for one in found.diagnoses):
        click.echo(
            "no fact says which step decided the failure; a judge can:"
            f" harness judge run {run} --rubric failure_modes, then --judged; or harness blame {run} {found.case_id}"
        )
    older = outdated(folder.manifest.scorer_versions)
    if older:
        click.echo(f"findings are of other versions ({'; '.join(older)}); to renew them: harness score {run}", err=True)


def _chosen(folder: "RunFolder", case: str, attempt: int) -> "tuple[Trial, Scorecard]":
    """Raises UsageError with the run's cases if the run has no such trial."""
    from harness.errors import UsageError

    trial = folder.trial(case, attempt)
    found = None if trial is None else folder.scorecard(case, attempt)
    if found is None or trial is None:
        raise UsageError(f"run {folder.manifest.run!r} has no trial {case!r} attempt {attempt}", remedy=_cases(folder))
    return trial, found


def _failed_first(folder: "RunFolder") -> "list[Scorecard]":
    return sorted(folder.cards(), key=lambda one: (one.success is True, one.case_id, one.attempt))


def _cases(folder: "RunFolder") -> str:
    known = list(dict.fromkeys(one.case_id for one in _failed_first(folder)))
    return f"its cases: {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}"


def _with_judge(project: Path, folder: "RunFolder", card: "Scorecard") -> "tuple[Scorecard, dict[str, str]]":
    """The scorecard with the findings of the judge, certified or not; the criteria without a verdict, and why."""
    from harness.errors import UsageError
    from harness.judging.certification import certified_accuracy
    from harness.judging.verdicts import FAILURE_MODES, judged_findings, unjudged, with_findings
    from harness.runs.store.judgements import kept_rubric, latest, of_last_judge, read_judgements

    every = latest(of_last_judge(read_judgements(folder.path, FAILURE_MODES)))
    own = [one for (case, attempt, _), one in every.items() if (case, attempt) == (card.case_id, card.attempt)]
    if not own:
        raise UsageError(
            f"no judge has examined {card.case_id!r} attempt {card.attempt} by the rubric {FAILURE_MODES}",
            remedy=f"harness judge run {folder.manifest.run} --rubric {FAILURE_MODES} --model MODEL",
        )
    rubric = kept_rubric(folder.path, FAILURE_MODES, own[-1].rubric_digest)
    judged = judged_findings(own, certified_accuracy(project, folder.manifest.suite, rubric, own))
    return card.model_copy(update={"diagnoses": with_findings(card.diagnoses, judged)}), unjudged(own)


def _show_model(folder: "RunFolder", case: str, attempt: int, as_json: bool) -> None:
    """Every request to the model with its messages, tools and options, and the answer."""
    from harness.cli.console import print_json
    from harness.reports.render.trajectory import model_lines, model_requests

    stored = folder.stored(case, attempt)
    spans = () if stored is None else stored.spans
    if as_json:
        print_json(model_requests(spans))
        return
    for line in model_lines(spans):
        click.echo(line)


def _show_transcript(
    project: Path, folder: "RunFolder", trial: "Trial", views: tuple[str, ...], *, as_json: bool
) -> None:
    """The compact transcript that judges receive, and its length."""
    from harness.cli.console import print_json
    from harness.judging.transcripts import build_transcript
    from harness.judging.views import VIEWS, view
    from harness.runs.measured_trials import suite_of

    if "list" in views:
        for name, (what, _) in VIEWS.items():
            click.echo(f"{name:16} {what}")
        return
    suite = suite_of(project, folder)
    transcript = build_transcript(trial, next((one for one in suite.cases if one.id == trial.case_id), None))
    pieces = view(transcript, views)
    if as_json:
        print_json({"raw_chars": transcript.raw_chars, "pieces": [one.model_dump(mode="json") for one in pieces]})
        return
    for piece in pieces:
        said = piece.text.replace(
            "\n", f"\n{'':9}"
        )  # indents further lines, so that no text can imitate a line with a reference
        click.echo(f"{piece.ref:8} {piece.who}: {said}")
    click.echo(_saving(transcript, pieces), err=True)


def _saving(transcript: "Transcript", pieces: "list[Piece]") -> str:
    from harness.judging.transcripts import CHARS_PER_TOKEN

    shown = sum(len(piece.text) for piece in pieces)
    trimmed = sum(piece.trimmed for piece in pieces)
    before, after = transcript.raw_chars // CHARS_PER_TOKEN, shown // CHARS_PER_TOKEN
    saved = 1 - shown / transcript.raw_chars if transcript.raw_chars else 0.0
    return (
        f"about {after} tokens instead of {before} for the trajectory as JSON ({saved:.0%} less); "
        f"{trimmed} characters of results omitted, marked in place"
    )
