"""`harness online`: production sessions, their scores, and shifts in the scores."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from harness.cli.judge import ModelOptions, model_options, settings_of
from harness.cli.main import LazyGroup, Verb
from harness.runs.store.folder import run_path
from harness.text import one_line

if TYPE_CHECKING:
    from harness.production.days import DayFacts
    from harness.production.judging import JudgingRequest
    from harness.production.score_store import Send
    from harness.production.settings import OnlineSettings
    from harness.production.store import SessionStore
    from harness.suite.suites import Suite


_VERBS = {
    "sessions": Verb("online", "sessions"),
    "delete": Verb("online", "delete"),
    "send": Verb("online", "send"),
    "score": Verb("online", "score"),
    "report": Verb("online_watch", "report"),
    "watch": Verb("online_watch", "watch"),
}


@click.group("online", cls=LazyGroup, verbs=_VERBS)
def command() -> None:
    """Score production sessions with the same scorers as trials, and monitor the scores.

    \b
    harness ingest serve                    receives the spans
    harness online score support --watch    scores the sessions as they complete
    harness online report support           prints the failures of the latest day
    harness online watch support --file     files shifts as issues
    """


def open_store(project: Path) -> "SessionStore":
    """Opens the store that online.yaml names."""
    from harness.production.settings import online_settings
    from harness.production.store import SessionStore

    settings = online_settings(project)
    return SessionStore.open(project / settings.store, settings.clickhouse)


def scored_facts(store: "SessionStore", suite: str) -> "DayFacts":
    """The stored scores of the suite. Raises UsageError if there are none."""
    from harness.errors import UsageError

    facts = store.facts(suite)
    if not facts.counted_days():
        raise UsageError(f"the store has no session that {suite!r} has scored", remedy=f"harness online score {suite}")
    return facts


def since_ns(since: str | None) -> int:
    """Nanoseconds since the epoch of `7d`, `12h`, `30m` ago, or of a date; 0 for None. Raises UsageError."""
    import re
    import time
    from datetime import UTC, datetime

    from harness.errors import UsageError

    if since is None:
        return 0
    found = re.fullmatch(r"(\d{1,5})([dhm])", since)
    if found is not None:
        return time.time_ns() - int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]] * 10**9
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        raise UsageError(
            f"invalid --since {since!r}: expected a duration or a date",
            remedy="for example 7d, 12h, 30m, or 2026-01-31",
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e9)


# `harness online sessions` and `delete`.


@click.command("sessions")
@click.argument("session", required=False)
@click.option("--since", metavar="TIME", help="Only sessions received since: 7d, 12h, 30m, or a date.")
@click.option("--release", metavar="NAME", help="Only sessions of this release.")
@click.option("--user", metavar="ID", help="Only sessions with this user.")
@click.option(
    "--last",
    type=click.IntRange(1),
    show_default="50",
    help="Maximum number of sessions; the latest are listed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list, or trajectory and scores, as JSON.")
@click.pass_obj
def sessions(
    project: Path,
    /,
    session: str | None,
    last: int | None,
    as_json: bool,
    **options: str | None,
) -> None:
    """List sessions, the latest last; or show the steps of SESSION and its scores.

    \b
    harness online sessions --since 1d --release 2.4
    harness online sessions conversation-17
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError

    if session is not None:
        given = [f"--{name}" for name, value in {**options, "last": last}.items() if value is not None]
        if given:
            raise UsageError(f"{given[0]} selects sessions of the list", remedy="omit SESSION or the option")
        _show_session(open_store(project), session, as_json=as_json)
        return
    store, since = open_store(project), since_ns(options["since"])
    rows = store.sessions(since_ns=since, release=options["release"], user_id=options["user"])
    shown = rows[-(last or _LISTED) :]
    if as_json:
        print_json([row.model_dump(mode="json") for row in shown])
        return
    failed = {one.session for one in store.failures(since_ns=min((row.received_last_ns for row in shown), default=0))}
    for row in shown:
        facts = f"{row.records} records, {row.errors} errors, {row.duration_s:.1f} s  {row.release}"
        click.echo(one_line(f"{row.key}  {facts}{'  failed' if row.key in failed else ''}"))
    click.echo(f"{len(rows)} sessions" + (f", the last {len(shown)} shown" if len(shown) < len(rows) else ""))


_LISTED = 50
_LONGEST = 200


def _show_session(store: "SessionStore", session: str, *, as_json: bool) -> None:
    from harness.cli.console import print_json
    from harness.reports.render.trajectory import step_lines
    from harness.scoring.evidence import content_words

    found = store.session(session)
    trajectory = found.trajectory
    scores = [one for one in store.score_store.read(session=found.row.key, latest=True) if not one.skipped]
    if as_json:
        print_json(
            {
                "session": found.row.model_dump(mode="json"),
                "trajectory": None if trajectory is None else trajectory.model_dump(mode="json"),
                "scores": [one.model_dump(mode="json") for one in scores],
                "notes": [note.problem for note in found.notes],
            }
        )
        return
    click.echo(one_line(f"{found.row.key}: {found.row.records} records, release {found.row.release or '(none)'}"))
    for step in () if trajectory is None else trajectory.steps:
        for line in step_lines(step, _LONGEST):
            click.echo(line)
    if trajectory is not None and trajectory.uncaptured:
        click.echo(f"  the spans do not carry {content_words(trajectory.uncaptured)}")
    for one in scores:
        for verdict in () if one.card is None else one.card.verdicts:
            click.echo(one_line(f"  check {verdict.check}: {_WORDS[verdict.passed]}  {verdict.reason[:100]}"))
        for judgement in one.judgements:
            click.echo(one_line(f"  criterion {judgement.criterion}: {judgement.answer}  {judgement.rationale[:100]}"))


_WORDS = {True: "passed", False: "failed", None: "not known"}


@click.command("delete")
@click.argument("session", required=False)
@click.option("--user", metavar="ID", help="Delete all sessions of this user.")
@click.pass_obj
def delete(project: Path, /, session: str | None, user: str | None) -> None:
    """Delete SESSION, or all sessions of a user, with their scores.

    \b
    harness online delete conversation-17
    harness online delete --user u-4711

    Nobody can read a deleted session after the command returns, also beside a running receiver.
    """
    from harness.errors import UsageError

    if (session is None) == (user is None):
        raise UsageError("give either a session or --user")
    click.echo(f"deleted {open_store(project).delete(session=session, user_id=user)} sessions")


# `harness online send`: stored runs as sessions.


@click.command("send")
@click.argument("run")
@click.option("--url", default="http://127.0.0.1:4318", show_default=True, help="The receiver.")
@click.option(
    "--token", "variable", metavar="VARIABLE", help="Environment variable that holds the receiver's trusted token."
)
@click.option("--release", default="", metavar="NAME", help="Release that is set on every session.")
@click.pass_obj
def send(project: Path, /, run: str, url: str, variable: str | None, release: str) -> None:
    """Send every trial of the stored RUN to a receiver, each as a session.

    \b
    harness online send tour-v2 --token HARNESS_TOKEN

    With a trusted token (`harness ingest serve --trusted-token`), the sessions get the same verdicts as the trials.
    Without it, they are ordinary sessions, and their statements about observed calls are ignored.
    """
    import os

    from harness.cli.console import say
    from harness.errors import UsageError
    from harness.production.sending import left_out_of, post_otlp, refused_in, trial_requests
    from harness.runs.store.beside_trials import stored_reference_states
    from harness.runs.store.folder import RunFolder

    token = None if variable is None else os.environ.get(variable)
    if variable is not None and not token:
        raise UsageError(f"the environment variable {variable} is not set")
    folder = RunFolder.open(run_path(project, run))
    count = 0
    references = stored_reference_states(folder.path)
    for stored in folder.trials():
        problems = [left_out_of(stored)]
        for path, request in trial_requests(folder.manifest.run, stored, release=release, references=references):
            problems.append(refused_in(post_otlp(url, path, request, token)))
        count += 1
        for problem in dict.fromkeys(one for one in problems if one):
            say(one_line(f"{stored.trial.case_id}/{stored.trial.attempt} may get other verdicts online: {problem}"))
    click.echo(f"sent {count} trials of {folder.manifest.run}")


# `harness online score`: a suite's scores for the sessions of production.


_BETWEEN_ROUNDS_S = 30


class Options(ModelOptions):
    """The options of `harness online score`."""

    rubric_name: str | None
    samples: int | None
    otlp: str | None
    langfuse: bool


@click.command("score")
@click.argument("suite")
@click.option("--rubric", "rubric_name", metavar="NAME", help="Also judge by this rubric: a name or a file.")
@model_options
@click.option(
    "--samples", type=click.IntRange(1, 99), help="Number of times each question is asked; the majority decides."
)
@click.option("--otlp", metavar="URL", help="Send scores as gen_ai.evaluation.result events to this OTLP endpoint.")
@click.option(
    "--langfuse", is_flag=True, help="Send scores to Langfuse, on the sessions' traces (LANGFUSE_HOST and keys)."
)
@click.option(
    "--watch", is_flag=True, help="Repeat every 30 seconds until interrupted; a round that fails is reported."
)
@click.option("--json", "as_json", is_flag=True, help="Print each round as a line of JSON.")
@click.pass_obj
def score(project: Path, /, suite: str, watch: bool, as_json: bool, **options: Unpack[Options]) -> None:
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

    from harness.production.settings import online_settings
    from harness.suite.loading import load_suite

    settings, loaded, store = online_settings(project), load_suite(project, suite), open_store(project)
    target = _target(options)
    judging = _judging(project, loaded, settings, options, target and target[0])
    is_first = True
    while True:
        outcome = _guarded(lambda: _round(store, loaded, settings, target, judging), watch=watch, is_first=is_first)
        if as_json or "error" not in outcome:
            click.echo(json.dumps(outcome) if as_json else _words(outcome))
        if not watch:
            return
        is_first = False
        time.sleep(_BETWEEN_ROUNDS_S)


def _guarded(work: "Callable[[], dict[str, Any]]", *, watch: bool, is_first: bool) -> dict[str, Any]:
    """The outcome of a round. One that fails ends the command, but with `--watch` only where the command itself is
    wrong: what does not answer now, or a full disk, costs one round.
    """
    from harness.cli.console import say
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
    target: "tuple[str, Send] | None",
    judging: "JudgingRequest | None",
) -> dict[str, Any]:
    from harness.cli.console import say
    from harness.errors import HarnessError
    from harness.production.judging import judge_sessions
    from harness.production.scoring import ScoringRequest, score_sessions

    request = ScoringRequest(suite=suite, settings=settings, send_to=target and target[0])
    outcome: dict[str, Any] = {"rules": score_sessions(store, request).model_dump(mode="json")}
    if judging is not None:
        outcome["judge"] = judge_sessions(store, judging).model_dump(mode="json")
    if target is not None:
        try:
            outcome["sent"] = store.score_store.deliver(*target)
        except HarnessError as error:
            say(f"{error}")
            outcome["unsent"] = store.score_store.waiting(target[0])
    return outcome


def _target(options: Options) -> "tuple[str, Send] | None":
    """Where scores are sent, by its name in the store."""
    from harness.errors import UsageError
    from harness.production.sending import langfuse_sender, otlp_logs_sender

    if options["otlp"] and options["langfuse"]:
        raise UsageError("--otlp and --langfuse exclude each other")
    if options["langfuse"]:
        return "langfuse", langfuse_sender()
    if options["otlp"]:
        return "otlp", otlp_logs_sender(options["otlp"])
    return None


def _judging(
    project: Path, suite: "Suite", settings: "OnlineSettings", options: Options, send_to: str | None
) -> "JudgingRequest | None":
    from harness.judging.prompts import PromptRegistry
    from harness.judging.rubrics import load_rubric
    from harness.production.judging import JudgingRequest

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
        send_to=send_to,
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
