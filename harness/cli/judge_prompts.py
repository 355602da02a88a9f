"""`harness judge rubric` and `harness judge prompt`: rubrics and the versions of prompts."""

from pathlib import Path

import click

# `harness judge rubric`: lists and shows rubrics.


@click.group("rubric")
def rubric_command() -> None:
    """List, check and show rubrics."""


@rubric_command.command("list")
@click.option("--suite", metavar="SUITE", help="Include the rubrics of this suite.")
@click.pass_obj
def list_rubrics(project: Path, suite: str | None) -> None:
    """List the rubrics by name, points and criteria.

    \b
    harness judge rubric list --suite drive_thru
    """
    from harness.judging.rubrics import load_rubric, rubric_names

    folder = _folder(project, suite)
    for name in rubric_names(folder):
        rubric = load_rubric(name, folder)
        points = sum(one.points for one in rubric.criteria)
        click.echo(f"{name}  {len(rubric.criteria)} criteria, {points:g} points  {rubric.description}")


@rubric_command.command("show")
@click.argument("name")
@click.option("--suite", metavar="SUITE", help="Suite whose rubrics are searched first.")
@click.option("--json", "as_json", is_flag=True, help="Print the rubric as JSON.")
@click.pass_obj
def show_rubric(project: Path, name: str, suite: str | None, as_json: bool) -> None:
    """Check the rubric NAME and show its criteria.

    \b
    harness judge rubric show shopping
    harness judge rubric show my_rubric.yaml
    """
    from harness.cli.console import print_json
    from harness.judging.rubrics import load_rubric

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
    from harness.suite.loading import load_suite

    return None if suite is None else load_suite(project, suite).folder


# `harness judge prompt`: prompts by name, version and label.


@click.group("prompt")
def prompt_command() -> None:
    """List, show and label the versions of prompts."""


@prompt_command.command("list")
@click.argument("name", required=False)
@click.pass_obj
def list_prompts(project: Path, name: str | None) -> None:
    """List prompts with their versions and labels.

    \b
    harness judge prompt list
    harness judge prompt list shopping-judge
    """
    from harness.judging.prompts import PromptRegistry

    registry = PromptRegistry(project)
    for one in registry.names() if name is None else (name,):
        labels = registry.labels(one)
        for version in registry.versions(one):
            named = ", ".join(label for label, its in labels.items() if its == version)
            prompt = registry.version(one, version)
            click.echo(f"{one}@{version}  {prompt.digest[:12]}  {prompt.source}  {named}".rstrip())


@prompt_command.command("show")
@click.argument("name")
@click.option("--version", metavar="VERSION", help="Version of the prompt; default: the one with the label.")
@click.option("--label", default="production", show_default=True, help="Label that selects the version.")
@click.pass_obj
def show_prompt(project: Path, name: str, version: str | None, label: str) -> None:
    """Print the text of the prompt NAME.

    \b
    harness judge prompt show judge
    harness judge prompt show shopping-judge --version plain
    """
    from harness.judging.prompts import PromptRegistry

    registry = PromptRegistry(project)
    prompt = registry.version(name, version) if version else registry.get(name, label)
    click.echo(prompt.text.rstrip("\n"))


@prompt_command.command("label")
@click.argument("name")
@click.argument("label")
@click.argument("version")
@click.pass_obj
def label_version(project: Path, name: str, label: str, version: str) -> None:
    """Assign LABEL to VERSION of the prompt NAME, in prompts/NAME/labels.yaml.

    \b
    harness judge prompt label judge production 2
    """
    from harness.judging.prompts import PromptRegistry

    PromptRegistry(project).set_label(name, label, version)
    click.echo(f"{name}: label {label} is now version {version}")


@prompt_command.command("pull")
@click.argument("name")
@click.option("--label", default="production", show_default=True, help="Label that selects the version.")
@click.pass_obj
def pull(project: Path, name: str, label: str) -> None:
    """Copy the prompt NAME from Langfuse to prompts/NAME/langfuse-<version>.md.

    \b
    harness judge prompt pull judge --label production

    The environment variables LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY select the project. Labels in
    prompts/ are not changed.
    """
    from harness.judging.langfuse import Langfuse
    from harness.judging.prompts import PromptRegistry

    found = Langfuse.from_environment().prompt(name, label)
    kept = PromptRegistry(project).write(name, f"langfuse-{found.version}", found.text)
    click.echo(f"{kept.name}@{kept.version}  {kept.digest[:12]}")
