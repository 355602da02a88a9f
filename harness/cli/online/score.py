"""`harness online score`: a suite's scores for the sessions of production."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from harness.cli.judge.options import ModelOptions, model_options, settings_of
from harness.cli.online.group import open_store, store_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.case import Suite
    from harness.online import JudgingRequest, OnlineSettings, ScoreOutbox, SessionStore


class Options(ModelOptions):
    """The options of `harness online score`."""

    limit: int | None
    rubric_name: str | None
    samples: int | None
    in_flight: int | None
    otlp: str | None
    langfuse: bool
    interval: float


@click.command("score")
@click.argument("suite")
@store_option
@click.option("--limit", type=click.IntRange(1), help="Maximum number of sessions that rules score in one round.")
@click.option("--rubric", "rubric_name", metavar="NAME", help="Also judge by this rubric: a name or a file.")
@model_options
@click.option(
    "--samples", type=click.IntRange(1, 99), help="Number of times each question is asked; the majority decides."
)
@click.option("--in-flight", type=click.IntRange(1, 1024), help="Maximum number of concurrent requests; default: 32.")
@click.option("--otlp", metavar="URL", help="Send scores as gen_ai.evaluation.result events to this OTLP endpoint.")
@click.option(
    "--langfuse", is_flag=True, help="Send scores to Langfuse, on the sessions' traces (LANGFUSE_HOST and keys)."
)
@click.option("--watch", is_flag=True, help="Repeat until interrupted; a round that fails is reported and repeated.")
@click.option("--interval", type=click.FloatRange(1), default=60, show_default=True, help="Seconds between rounds.")
@click.option("--json", "as_json", is_flag=True, help="Print each round as a line of JSON.")
@click.pass_obj
def score(
    project: Path, /, suite: str, folder: Path | None, watch: bool, as_json: bool, **options: Unpack[Options]
) -> None:
    """Score the complete sessions that SUITE has not scored yet.

    \b
    harness online score support
    harness online score support --rubric helpfulness --watch
    harness online score support --otlp http://127.0.0.1:4318
    harness online score support --langfuse    (LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY)

    Sessions are scored by the same scorers as trials, once, and again after a late span. online.yaml declares sampling,
    budgets, and the pause after which a session is complete.
    """
    import json
    import time

    from harness.case import load_suite
    from harness.online import online_settings

    settings, loaded, store = online_settings(project), load_suite(project, suite), open_store(project, folder)
    outbox = _outbox(store, options)
    judging = _judging(project, loaded, settings, options, outbox)
    is_first = True
    while True:
        outcome = _guarded(
            lambda: _round(store, loaded, settings, options, outbox, judging), watch=watch, is_first=is_first
        )
        if as_json or "error" not in outcome:
            click.echo(json.dumps(outcome) if as_json else _words(outcome))
        if not watch:
            return
        is_first = False
        time.sleep(options["interval"])


def _guarded(work: "Callable[[], dict[str, Any]]", *, watch: bool, is_first: bool) -> dict[str, Any]:
    """The outcome of a round. One that fails ends the command, but with `--watch` only where the command itself is
    wrong: what does not answer now, or a full disk, costs one round.
    """
    from harness.cli.output.console import say
    from harness.errors import HarnessError, ResultsError, UsageError

    try:
        try:
            return work()
        except OSError as error:
            place = error.filename or "the store"
            remedy = "sessions without a stored score are scored in the next round"
            raise ResultsError(f"{place}: {error.strerror or error}", remedy=remedy) from error
    except HarnessError as error:
        if not watch or (is_first and isinstance(error, UsageError)):
            raise
        say(f"harness: {error}\n  -> the next round is not affected")
        return {"error": error.message}


def _round(
    store: "SessionStore",
    suite: "Suite",
    settings: "OnlineSettings",
    options: Options,
    outbox: "ScoreOutbox | None",
    judging: "JudgingRequest | None",
) -> dict[str, Any]:
    from harness.cli.output.console import say
    from harness.errors import HarnessError
    from harness.online import ScoringRequest, judge_sessions, score_sessions

    request = ScoringRequest(suite=suite, settings=settings, limit=options["limit"], outbox=outbox)
    outcome: dict[str, Any] = {"rules": score_sessions(store, request).model_dump(mode="json")}
    if judging is not None:
        outcome["judge"] = judge_sessions(store, judging).model_dump(mode="json")
    if outbox is not None:
        try:
            outcome["sent"] = outbox.deliver(say)
        except HarnessError as error:
            say(f"{error}")
            outcome["unsent_batches"] = outbox.waiting
        if outbox.damaged:
            outcome["damaged_batches"] = outbox.damaged
    return outcome


def _outbox(store: "SessionStore", options: Options) -> "ScoreOutbox | None":
    from harness.errors import UsageError
    from harness.online import ScoreOutbox, langfuse_sender, otlp_logs_sender

    if options["otlp"] and options["langfuse"]:
        raise UsageError("--otlp and --langfuse exclude each other")
    if options["langfuse"]:
        return ScoreOutbox(store.layout.outbox / "langfuse", langfuse_sender())
    if options["otlp"]:
        return ScoreOutbox(store.layout.outbox / "otlp", otlp_logs_sender(options["otlp"]))
    return None


def _judging(
    project: Path, suite: "Suite", settings: "OnlineSettings", options: Options, outbox: "ScoreOutbox | None"
) -> "JudgingRequest | None":
    from harness.judge import PromptRegistry, load_rubric
    from harness.online import JudgingRequest

    if options["rubric_name"] is None:
        return None
    rubric = load_rubric(options["rubric_name"], suite.folder)
    judge = settings_of(project, suite.folder, options)
    return JudgingRequest(
        suite=suite,
        settings=settings,
        rubric=rubric,
        prompt=PromptRegistry(project).get(rubric.prompt, judge.label),
        judge=judge,
        mode=options["mode"],
        outbox=outbox,
    )


def _words(outcome: dict[str, Any]) -> str:
    rules = outcome["rules"]
    words = (
        f"{rules['scored']} sessions scored ({rules['failed']} with failures), {rules['before']} before,"
        f" {rules['skipped']} left out by sampling, {rules['unreadable']} unreadable, {rules['waiting']} waiting"
    )
    if rules["without_content"]:
        words += (
            f", {rules['without_content']} of the scored ones without content (their spans leave out what was said)"
        )
    if rules["within_pause"]:
        words += f", {rules['within_pause']} not complete yet (they received something within the pause of online.yaml)"
    if "judge" in outcome:
        judge = outcome["judge"]
        words += f"; {judge['judged']} judged, {judge['failed']} failed, {judge['waiting']} waiting"
        words += f", {judge['without_question']} with nothing to ask" if judge["without_question"] else ""
        words += f" ({judge['stopped']})" if judge["stopped"] else ""
    return words + (f"; {outcome['sent']} evaluations sent" if "sent" in outcome else "")
