"""`harness judge rubrics` and `harness judge prompts`: rubrics and the versions of prompts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import json_option, refuse_typed

if TYPE_CHECKING:
    from harness.judging.prompts import PromptRegistry
    from harness.judging.rubrics import Rubric


@click.command("rubrics")
@click.argument("name", required=False)
@click.option("--suite", metavar="SUITE", help="Suite whose rubrics are searched first.")
@click.option("--json", "as_json", is_flag=True, help="Print the rubrics as JSON.")
@click.pass_obj
def rubrics_command(project: Path, name: str | None, suite: str | None, as_json: bool) -> None:
    """List the rubrics, or check the rubric NAME (a name or a file) and show its criteria.

    \b
    harness judge rubrics
    harness judge rubrics shopping
    harness judge rubrics --suite drive_thru
    """
    from harness.cli.console import print_json
    from harness.judging.rubrics import load_rubric, rubric_names
    from harness.suite.loading import load_suite

    folder = None if suite is None else load_suite(project, suite).folder
    rubrics = [load_rubric(one, folder) for one in (rubric_names(folder) if name is None else (name,))]
    if as_json:
        shown = [one.model_dump(mode="json", by_alias=True) for one in rubrics]
        print_json(shown if name is None else shown[0])
        return
    for rubric in rubrics:
        if name is not None:
            _show(rubric)
            return
        points = sum(one.points for one in rubric.criteria)
        click.echo(f"{rubric.name}  {len(rubric.criteria)} criteria, {points:g} points  {rubric.description}")


def _show(rubric: "Rubric") -> None:
    click.echo(f"{rubric.name} version {rubric.version} ({rubric.digest[:12]}), prompt {rubric.prompt}")
    total = sum(rubric.weights.values())
    for domain, weight in rubric.weights.items():
        click.echo(f"{domain}  {weight / total:.0%}")
        for one in rubric.criteria:
            if one.domain == domain:
                critical = ", critical" if one.critical else ""
                click.echo(f"  {one.id} ({one.points:g}, {one.kind}{critical}): {one.statement}")
                click.echo(f"    sees {', '.join(one.evidence)}; applies {one.eligibility or 'always'}")


@click.command("prompts")
@click.argument("name", required=False, metavar="[NAME[@VERSION]]")
@click.option("--label", metavar="LABEL", help="Assign LABEL to NAME@VERSION, in prompts/NAME/labels.yaml.")
@json_option
@click.pass_context
def prompts_command(ctx: click.Context, name: str | None, label: str | None, as_json: bool) -> None:
    """List the versions of all prompts, or of NAME, with their labels; print the text of NAME@VERSION.

    \b
    harness judge prompts
    harness judge prompts judge@1
    harness judge prompts judge@1 --label candidate
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError
    from harness.judging.prompts import PromptRegistry

    registry = PromptRegistry(ctx.obj)
    prompt, _, version = (name or "").partition("@")
    if label is not None:
        refuse_typed(ctx, ("as_json",), "--label")
        if not version:
            raise UsageError("--label needs a version", remedy="give NAME@VERSION")
        registry.set_label(prompt, label, version)
        click.echo(f"{prompt}: label {label} is now version {version}")
    elif version:
        text = registry.version(prompt, version).text
        if as_json:
            print_json({"prompt": name, "text": text})
        else:
            click.echo(text.rstrip("\n"))
    else:
        known = registry.names()
        if name is not None and name not in known:
            raise UsageError(f"there is no prompt {name!r}", remedy=f"prompts here: {', '.join(known)}")
        rows = [row for one in (known if name is None else (name,)) for row in _versions(registry, one)]
        if as_json:
            print_json(rows)
            return
        for row in rows:
            click.echo("  ".join((row["prompt"], row["digest"][:12], row["source"], ", ".join(row["labels"]))).rstrip())


def _versions(registry: "PromptRegistry", name: str) -> Iterator[dict[str, Any]]:
    labels = registry.labels(name)
    for version in registry.versions(name):
        named = [label for label, its in labels.items() if its == version]
        prompt = registry.version(name, version)
        yield {"prompt": f"{name}@{version}", "digest": prompt.digest, "source": prompt.source, "labels": named}
