"""`harness online sessions`, `show`, `delete`, `compact`."""

from pathlib import Path

import click

from harness.cli.online.group import open_store, since_ns, store_option
from harness.visible_text import one_line


@click.command("sessions")
@store_option
@click.option("--since", metavar="TIME", help="Only sessions received since: 7d, 12h, 30m, or a date.")
@click.option("--release", metavar="NAME", help="Only sessions of this release.")
@click.option("--user", metavar="ID", help="Only sessions with this user.")
@click.option(
    "--last",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Maximum number of sessions; the latest are listed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_obj
def sessions(project: Path, /, folder: Path | None, last: int, as_json: bool, **options: str | None) -> None:
    """List sessions; the latest is the last.

    \b
    harness online sessions --since 1d --release 2.4
    """
    from harness.cli.output.console import print_json

    rows = open_store(project, folder).sessions(
        since_ns=since_ns(options["since"]), release=options["release"], user_id=options["user"]
    )
    shown = rows[-last:]
    if as_json:
        print_json([row.model_dump(mode="json") for row in shown])
        return
    for row in shown:
        click.echo(
            one_line(f"{row.key}  {row.records} records, {row.errors} errors, {row.duration_s:.1f} s  {row.release}")
        )
    click.echo(f"{len(rows)} sessions" + (f", the last {len(shown)} shown" if len(shown) < len(rows) else ""))


@click.command("show")
@click.argument("session")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print trajectory and scores as JSON.")
@click.pass_obj
def show(project: Path, /, session: str, folder: Path | None, as_json: bool) -> None:
    """Show the steps of SESSION and its scores.

    \b
    harness online show conversation-17
    """
    from harness.cli.output.console import print_json
    from harness.score import content_words

    store = open_store(project, folder)
    found = store.session(session)
    trajectory = found.trajectory
    scores = [one for one in store.scores() if one.session == found.row.key]
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
        calls = ", ".join(call.name for call in step.calls)
        click.echo(one_line(f"  {step.index:>3} {step.source:6} {(step.message or '')[:100]!r} {calls}"))
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
@store_option
@click.pass_obj
def delete(project: Path, /, session: str | None, user: str | None, folder: Path | None) -> None:
    """Delete SESSION, or all sessions of a user, with their scores.

    \b
    harness online delete conversation-17
    harness online delete --user u-4711

    Deleted sessions are not visible after the command returns. Records in the journal of a running receiver are removed
    when the receiver moves the journal into the store, within a minute.
    """
    from harness.errors import UsageError

    if (session is None) == (user is None):
        raise UsageError("give either a session or --user")
    click.echo(f"deleted {open_store(project, folder).delete(session=session, user_id=user)} sessions")


@click.command("compact")
@store_option
@click.option("--retention-days", type=click.FloatRange(0, min_open=True), help="Delete records older than this.")
@click.pass_obj
def compact(project: Path, /, folder: Path | None, retention_days: float | None) -> None:
    """Compact a store while its receiver is stopped; a running receiver compacts the store itself."""
    store = open_store(project, folder)
    store.compact(retention_days=retention_days)
    click.echo(f"{len(store.sessions())} sessions")
