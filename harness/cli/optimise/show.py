"""`harness optimise show`: the candidates of an optimisation and its result."""

from pathlib import Path

import click


@click.command("show")
@click.argument("run")
@click.option(
    "--candidate", metavar="ID", help="Candidate whose changed texts are shown; default: the accepted candidate."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write an HTML page with the tree of candidates and the curve of scores.",
)
@click.option("--json", "as_json", is_flag=True, help="Print result and candidates as JSON.")
@click.pass_obj
def command(project: Path, run: str, candidate: str | None, html: Path | None, as_json: bool) -> None:
    """Show the optimisation RUN: the tree of candidates, the best score by rollouts, and the changed texts.

    \b
    harness optimise show optimise-grocery-cart-1a2b3c4d
    harness optimise show optimise-grocery-cart-1a2b3c4d --html optimisation.html
    """
    from harness.cli.output.console import print_json, say
    from harness.documents import write_output
    from harness.optimise import (
        StoredOptimisation,
        curve_lines,
        diff_lines,
        optimisation_page,
        result_lines,
        tree_lines,
    )
    from harness.results import run_path
    from harness.visible_text import one_line

    stored = StoredOptimisation(run_path(project, run))
    asked, outcome, records = stored.asked, stored.outcome, stored.records
    chosen = candidate or (None if outcome is None else outcome.accepted)
    shown = None if chosen is None else stored.candidate(chosen)
    if as_json:
        results = {name: one.model_dump(mode="json") for name, one in records.items()}
        print_json({"outcome": None if outcome is None else outcome.model_dump(mode="json"), "candidates": results})
        return
    lines = list(tree_lines(records, None if outcome is None else outcome.accepted))
    if outcome is not None:
        lines += ["", *curve_lines(outcome), "", *result_lines(outcome)]
    if shown is not None:
        lines += ["", *diff_lines(stored.candidate(asked.start), shown)]
    for line in lines:
        click.echo(one_line(line))
    if outcome is None:
        page = "" if html is None else f"; {html} is written when it has ended"
        say(f"it has not ended; run the command that started it again to continue{page}")
    elif html is not None:
        page = optimisation_page(outcome, records, stored.candidate(asked.start), shown)
        write_output(html, page.encode())
        say(str(html))
