"""`harness judge prompt`: prompts by name, version and label."""

from pathlib import Path

import click


@click.group("prompt")
def command() -> None:
    """List, show and label the versions of prompts."""


@command.command("list")
@click.argument("name", required=False)
@click.pass_obj
def list_prompts(project: Path, name: str | None) -> None:
    """List prompts with their versions and labels.

    \b
    harness judge prompt list
    harness judge prompt list shopping-judge
    """
    from harness.judge import PromptRegistry

    registry = PromptRegistry(project)
    for one in registry.names() if name is None else (name,):
        labels = registry.labels(one)
        for version in registry.versions(one):
            named = ", ".join(label for label, its in labels.items() if its == version)
            prompt = registry.version(one, version)
            click.echo(f"{one}@{version}  {prompt.digest[:12]}  {prompt.source}  {named}".rstrip())


@command.command("show")
@click.argument("name")
@click.option("--version", metavar="VERSION", help="Version of the prompt; default: the one with the label.")
@click.option("--label", default="production", show_default=True, help="Label that selects the version.")
@click.pass_obj
def show(project: Path, name: str, version: str | None, label: str) -> None:
    """Print the text of the prompt NAME.

    \b
    harness judge prompt show judge
    harness judge prompt show shopping-judge --version plain
    """
    from harness.judge import PromptRegistry

    registry = PromptRegistry(project)
    prompt = registry.version(name, version) if version else registry.get(name, label)
    click.echo(prompt.text.rstrip("\n"))


@command.command("label")
@click.argument("name")
@click.argument("label")
@click.argument("version")
@click.pass_obj
def label_version(project: Path, name: str, label: str, version: str) -> None:
    """Assign LABEL to VERSION of the prompt NAME, in prompts/NAME/labels.yaml.

    \b
    harness judge prompt label judge production 2
    """
    from harness.judge import PromptRegistry

    PromptRegistry(project).set_label(name, label, version)
    click.echo(f"{name}: label {label} is now version {version}")


@command.command("pull")
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
    from harness.judge import Langfuse, PromptRegistry

    found = Langfuse.from_environment().prompt(name, label)
    kept = PromptRegistry(project).write(name, f"langfuse-{found.version}", found.text)
    click.echo(f"{kept.name}@{kept.version}  {kept.digest[:12]}")
