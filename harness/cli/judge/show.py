"""`harness judge show`: the judgements of a run."""

from pathlib import Path

import click

from harness.results import run_path


@click.command("show")
@click.argument("run")
@click.option("--rubric", metavar="NAME", help="Rubric to show; default: all rubrics that the run was judged by.")
@click.option("--case", "case", metavar="ID", help="Show each criterion of this case with the judge's reasons.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(project: Path, run: str, rubric: str | None, case: str | None, as_json: bool) -> None:
    """Show the scores of the stored RUN by rubric, domain and criterion.

    \b
    harness judge show tour-v2
    harness judge show tour-v2 --rubric tool_agent --case order-correctness-003
    """
    from harness.cli.output.console import out, print_json
    from harness.errors import UsageError
    from harness.report import JudgedView, judged_rubric
    from harness.results import RunFolder, judged_rubrics, latest, read_judgements

    path = RunFolder.open(run_path(project, run)).path
    names = judged_rubrics(path)
    if not names or (rubric is not None and rubric not in names):
        raise UsageError(f"run {path.name!r} was not judged by {rubric or 'any rubric'}", remedy="harness judge run")
    for name in names if rubric is None else (rubric,):
        if case is not None:
            said = [one for one in latest(read_judgements(path, name)).values() if one.case_id == case]
            if as_json:
                print_json([one.model_dump(mode="json") for one in said])
                continue
            for one in said:
                click.echo(f"{one.criterion} (attempt {one.attempt}): {one.answer.replace('_', ' ')}")
                click.echo(f"  {one.failure or one.rationale}" + (f"  [{', '.join(one.spans)}]" if one.spans else ""))
            continue
        score = judged_rubric(path, name)
        if score is None:
            continue
        if as_json:
            print_json(score.model_dump(mode="json"))
        else:
            out().print(JudgedView(score))
