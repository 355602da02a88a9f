"""`harness judge rubric`: lists and shows rubrics."""

from pathlib import Path

import click


@click.group("rubric")
def command() -> None:
    """List, check and show rubrics."""


@command.command("list")
@click.option("--suite", metavar="SUITE", help="Include the rubrics of this suite.")
@click.pass_obj
def list_rubrics(project: Path, suite: str | None) -> None:
    """List the rubrics by name, points and criteria.

    \b
    harness judge rubric list --suite drive_thru
    """
    from harness.judge import load_rubric, rubric_names

    folder = _folder(project, suite)
    for name in rubric_names(folder):
        rubric = load_rubric(name, folder)
        points = sum(one.points for one in rubric.criteria)
        click.echo(f"{name}  {len(rubric.criteria)} criteria, {points:g} points  {rubric.description}")


@command.command("show")
@click.argument("name")
@click.option("--suite", metavar="SUITE", help="Suite whose rubrics are searched first.")
@click.option("--json", "as_json", is_flag=True, help="Print the rubric as JSON.")
@click.pass_obj
def show(project: Path, name: str, suite: str | None, as_json: bool) -> None:
    """Check the rubric NAME and show its criteria.

    \b
    harness judge rubric show shopping
    harness judge rubric show my_rubric.yaml
    """
    from harness.cli.output.console import print_json
    from harness.judge import load_rubric

    rubric = load_rubric(name, _folder(project, suite))
    if as_json:
        print_json(rubric.model_dump(mode="json", by_alias=True))
        return
    click.echo(f"{rubric.name} version {rubric.version} ({rubric.digest[:12]}), prompt {rubric.prompt}")
    total = sum(rubric.weights.values())
    for domain, weight in rubric.weights.items():
        click.echo(f"{domain}  {weight / total:.0%}")
        for one in rubric.criteria:
            if one.domain == domain:
                critical = ", critical" if one.critical else ""
                click.echo(f"  {one.id} ({one.points:g}, {one.kind}{critical}): {one.statement}")
                click.echo(
                    f"    sees {', '.join(one.evidence)}; applies {one.eligible_when or one.eligibility or 'always'}"
                )


def _folder(project: Path, suite: str | None) -> Path | None:
    from harness.case import load_suite

    return None if suite is None else load_suite(project, suite).folder
