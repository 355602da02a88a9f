"""`harness online send` and `parity`: stored runs as sessions, and compared with sessions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.online.group import open_store, scored_facts, since_ns, store_option
from harness.results import run_path
from harness.visible_text import one_line

if TYPE_CHECKING:
    from harness.online import RateComparison


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

    from harness.cli.output.console import say
    from harness.errors import UsageError
    from harness.online import left_out_of, post_otlp, refused_in, trial_requests
    from harness.results import RunFolder, stored_reference_states

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


@click.command("parity")
@click.argument("run")
@store_option
@click.option(
    "--since",
    metavar="TIME",
    default="7d",
    show_default=True,
    help="Only sessions received since: 7d, 12h, 30m, or a date.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def parity(ctx: click.Context, /, run: str, folder: Path | None, since: str, as_json: bool) -> None:
    """Compare the offline RUN with the scored sessions of its suite, and test whether the mix explains differences.

    \b
    harness online parity tour-v2 --since 7d

    Compared are success, checks, judged criteria, failure modes and metrics. The mix is the distribution of category,
    length and tools. Exit 1 if one differs and the mix does not explain it, 3 if no signal has values on both sides.
    """
    from datetime import UTC, datetime

    from harness.cli.output.console import print_json
    from harness.errors import ExitCode
    from harness.online import compare_populations, offline_observations, online_observations
    from harness.results import RunFolder, judged_rubrics, latest, read_judgements

    project: Path = ctx.obj
    offline = RunFolder.open(run_path(project, run))
    store = open_store(project, folder)
    facts = scored_facts(store, offline.manifest.suite)
    begin = datetime.fromtimestamp(since_ns(since) / 1e9, UTC).strftime("%Y-%m-%d")
    steps = {(one.trial.case_id, one.trial.attempt): len(one.trial.trajectory.steps) for one in offline.trials()}
    cards = [(card, steps.get((card.case_id, card.attempt), 0)) for card in offline.scorecards()]
    judged = [
        one
        for rubric in judged_rubrics(offline.path)
        for one in latest(read_judgements(offline.path, rubric)).values()
        if one.rubric == rubric
    ]
    observed = offline_observations(cards, judged)
    compared = compare_populations(observed, online_observations(facts, begin, "9999"))
    if as_json:
        print_json([one.model_dump(mode="json") for one in compared])
    else:
        _show(compared)
    if not compared:
        ctx.exit(ExitCode.COULD_NOT)
    ctx.exit(ExitCode.VERDICT if any(one.differs and one.explained is not True for one in compared) else ExitCode.DONE)


def _show(compared: "list[RateComparison]") -> None:
    from harness.online import signal_words

    if not compared:
        click.echo("nothing to compare: no signal has values both in the run and in the sessions received since then")
    for one in compared:
        if not one.differs:
            words = "no difference detected with this number of sessions"
        elif one.explained is None:
            words = f"differs; only {one.shared_weight:.0%} of production has a counterpart in the run"
        else:
            words = "differs; the mix explains it" if one.explained else "differs; the mix does not explain it"
        shown = _mean if one.signal.startswith("metric:") else _share
        mixed = "" if one.offline_at_mix is None else f", {shown(one.offline_at_mix)} at production's mix"
        sides = f"offline {shown(one.offline)}{mixed}; online {shown(one.online)}"
        click.echo(one_line(f"{signal_words(one.signal)}: {sides}: {words}"))


def _share(value: float) -> str:
    return f"{value:.1%}"


def _mean(value: float) -> str:
    return f"{value:.4g}"
