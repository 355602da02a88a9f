"""`harness init`: a first evaluation project that runs as it is."""

from pathlib import Path

import click

from harness.errors import UsageError

_TEMPLATE = Path(__file__).parent / "template"
_RENAMED = {"gitignore": ".gitignore"}


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> None:
    """Write a first evaluation project into FOLDER.

    \b
    harness init my-evals
    harness --project my-evals run hello

    A file that exists is never overwritten: the command then writes nothing at all.
    """
    files = sorted(path for path in _TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    targets = {path: _target(folder, path) for path in files}
    taken = [str(target) for target in targets.values() if target.exists()]
    if taken:
        raise UsageError(f"already there: {', '.join(taken)}", remedy="choose another folder, or remove what is there")
    for path, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        click.echo(f"wrote {target}")
    click.echo(f"\nNext: harness --project {folder} run hello")


def _target(folder: Path, path: Path) -> Path:
    relative = path.relative_to(_TEMPLATE)
    return folder / relative.with_name(_RENAMED.get(relative.name, relative.name))
