"""`harness init`: writes a first evaluation project and CI workflows."""

from pathlib import Path
from typing import Literal

import click

from harness.cli.project.schema import write_schemas
from harness.errors import UsageError

_TEMPLATE = Path(__file__).parent / "template"
_KEYS = {
    "github": "repository secrets of the names in the workflows",
    "gitlab": "masked CI/CD variables of the names in suite.yaml",
}
_RENAMED = {"gitignore": ".gitignore"}


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab"]),
    help="Also write workflows of this CI service, for pull requests and for every night; in an existing project: write"
    " only the workflows.",
)
@click.option(
    "--install",
    metavar="SPEC",
    help="Source that workflows install from: a wheel file, https://...whl#sha256=HASH, or git+https://...@COMMIT. "
    "Default: a wheel of this installation, committed next to the workflows.",
)
def command(folder: Path, ci: Literal["github", "gitlab"] | None, install: str | None) -> None:
    """Write a first evaluation project into FOLDER.

    \b
    harness init my-evals
    harness --project my-evals run hello
    harness init my-evals --ci github
    harness init my-evals --ci gitlab
    harness init my-evals --ci github --install git+https://git.example.com/tools/harness@COMMIT

    Workflows install every package by its hash, from requirements.txt in .github/harness/ or
    .gitlab/harness/.
    Existing files are never overwritten: the project is written completely or not at all.
    """
    if install is not None and ci is None:
        raise UsageError("--install says how workflows install the harness", remedy="add --ci github")
    if ci is None or not (folder / "suites").is_dir():
        _write_project(folder)
    if ci is None:
        click.echo(f"\nNext: harness --project {folder} run hello")
        return
    from harness.cli.project.ci import write_workflows

    for path, said in write_workflows(folder, ci, install).items():
        click.echo(f"wrote {path}" if said == "wrote" else f"{path}: {said}")
    click.echo(
        "\nNext: run each suite and store it as the baseline of pull requests, for example\n"
        f"  harness --project {folder} run SUITE --run-name first\n"
        f"  harness --project {folder} baseline set first\n"
        f"and commit baselines/ and .{ci}*. Keys are {_KEYS[ci]}."
    )


def _write_project(folder: Path) -> None:
    files = sorted(path for path in _TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    targets = {path: _target(folder, path) for path in files}
    taken = [str(target) for target in targets.values() if target.exists()]
    if taken:
        raise UsageError(f"files exist already: {', '.join(taken)}", remedy="choose another folder, or remove them")
    for path, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        click.echo(f"wrote {target}")
    for written in write_schemas(folder):
        click.echo(f"wrote {written}")


def _target(folder: Path, path: Path) -> Path:
    relative = path.relative_to(_TEMPLATE)
    return folder / relative.with_name(_RENAMED.get(relative.name, relative.name))
