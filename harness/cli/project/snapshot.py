"""`harness snapshot`: builds, lists, verifies and compares snapshots."""

from pathlib import Path

import click

from harness.errors import UsageError


@click.group("snapshot")
def command() -> None:
    """Build, list, verify and compare snapshots."""


@command.command("build")
@click.argument("environment")
@click.argument("name")
@click.pass_obj
def build(project: Path, environment: str, name: str) -> None:
    """Build the snapshot NAME, which ENVIRONMENT declares.

    \b
    harness snapshot build drive_thru breakfast
    """
    from harness.cli.output.console import say
    from harness.sandbox import ImageStore, SnapshotStore, load_environment

    images = ImageStore(project)
    declared = load_environment(project, environment)
    for image in (declared.image, *(declared.image_of(service) for service in declared.services)):
        images.build(image, say)
    snapshot = SnapshotStore(project, images).build(environment, name, say)
    click.echo(f"{environment}/{name}  {snapshot.digest}")


@command.command("list")
@click.pass_obj
def list_snapshots(project: Path) -> None:
    """List the snapshots with their digests."""
    from harness.sandbox import SnapshotStore

    for snapshot in SnapshotStore(project).list():
        contents = f"{len(snapshot.files)} files, {len(snapshot.dumps)} dumps"
        click.echo(f"{snapshot.environment}/{snapshot.name:20} {snapshot.digest[:16]}  {contents}")


@command.command("verify")
@click.argument("snapshots", nargs=-1, metavar="[ENVIRONMENT/NAME]...")
@click.pass_obj
def verify(project: Path, snapshots: tuple[str, ...]) -> None:
    """Compare snapshots (default: all) with the files on disk, byte by byte.

    If a file differs, the message names it, and the exit status is 3.
    """
    from harness.sandbox import SnapshotStore

    store = SnapshotStore(project)
    names = snapshots or tuple(f"{found.environment}/{found.name}" for found in store.list())
    for name in names:
        snapshot = store.verify(*_split(name))
        click.echo(f"{name}  as built  {snapshot.digest[:16]}")


@command.command("diff")
@click.argument("before", metavar="ENVIRONMENT/NAME")
@click.argument("after", metavar="ENVIRONMENT/NAME")
@click.pass_obj
def diff(project: Path, before: str, after: str) -> None:
    """List the differences between two snapshots."""
    from harness.sandbox import SnapshotStore, snapshot_differences

    store = SnapshotStore(project)
    for difference in snapshot_differences(store.verify(*_split(before)), store.verify(*_split(after))):
        click.echo(f"{difference.change:8} {difference.subject}  {difference.detail or ''}".rstrip())


def _split(name: str) -> tuple[str, str]:
    environment, slash, state = name.partition("/")
    if not slash or not environment or not state:
        raise UsageError(
            f"invalid snapshot name {name!r}", remedy="expected ENVIRONMENT/NAME, for example drive_thru/breakfast"
        )
    return environment, state
