"""`harness schema`: JSON Schemas of the hand-written files."""

from pathlib import Path

import click

_KINDS = ("suite", "case", "environment", "rubric")


@click.command("schema")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
@click.option("--write", is_flag=True, help="Write all schemas into the project's schemas/.")
@click.option("--reference", is_flag=True, help="Print all fields of all files as a Markdown page instead.")
@click.pass_obj
def command(project: Path, kind: str | None, write: bool, reference: bool) -> None:
    """Print the JSON Schema of KIND: suite, case, environment or rubric.

    \b
    harness schema suite
    harness schema --write

    An editor with YAML support completes and checks a file that begins with a line such as
    `# yaml-language-server: $schema=../../schemas/suite.json`. Files that `harness init` writes have this line.
    """
    from harness.cli.output.console import print_json
    from harness.errors import UsageError

    if [kind is not None, write, reference].count(True) != 1:
        raise UsageError("give KIND, --write or --reference", remedy=f"kinds: {', '.join(_KINDS)}")
    if reference:
        from harness.pipeline import reference_page

        click.echo(reference_page(), nl=False)
    elif write:
        for path in write_schemas(project):
            click.echo(f"wrote {path}")
    else:
        from harness.pipeline import KINDS_OF_DOCUMENT, published_schema

        print_json(published_schema(next(one for one in KINDS_OF_DOCUMENT if one == kind)))


def write_schemas(project: Path) -> list[Path]:
    """Writes `schemas/<kind>.json` of this version; gives the paths."""
    import json

    from harness.documents import write_atomically
    from harness.pipeline import KINDS_OF_DOCUMENT, published_schema

    folder = project / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in KINDS_OF_DOCUMENT:
        path = folder / f"{kind}.json"
        write_atomically(path, (json.dumps(published_schema(kind), indent=2, ensure_ascii=False) + "\n").encode())
        written.append(path)
    return written
