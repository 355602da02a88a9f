"""`harness image` and `harness snapshot`: what sandboxes are made from."""

import platform
from pathlib import Path

import click

from harness.errors import UsageError

# `harness image`: images of sandboxes and services.


@click.group("image")
def image_command() -> None:
    """Build the images of sandboxes and services."""


@image_command.command("build")
@click.argument("names", nargs=-1)
@click.option(
    "--lock",
    "write_lock",
    is_flag=True,
    help="First pin the packages in the images' requirements.in.",
)
@click.pass_obj
def build_images(project: Path, names: tuple[str, ...], write_lock: bool) -> None:
    """Build NAMES (default: all images of the project) and their base images.

    \b
    harness image build base
    harness image build kinto --lock

    With --lock, pip chooses the versions of images/NAME/requirements.in from its configured index, among those with a
    wheel for the image's Python; images/NAME/requirements.txt has their names, versions and hashes, but no URLs.

    An image is identified by the digest of its inputs, so that a second build only looks it up. If no registry is
    reachable, Debian is built from its packages; that needs mmdebstrap.
    """
    from harness.cli.console import say
    from harness.sandbox.images.store import ImageStore
    from harness.sandbox.images.wheels import ASKED, lock_requirements

    store = ImageStore(project)
    for name in (names or store.names()) if write_lock else ():
        if (project / "images" / name / ASKED).exists():
            click.echo(f"wrote {lock_requirements(project, name, platform.machine(), say)}")
    for name in names or store.names():
        built = store.build(name, say)
        state = "there" if built.reused else "built"
        click.echo(f"{built.name:24} {state}  {built.size_mb:5} MB  {built.tag}")


# `harness snapshot`: builds, verifies and compares snapshots.


@click.group("snapshot")
def snapshot_command() -> None:
    """Build, verify and compare snapshots."""


@snapshot_command.command("build")
@click.argument("environment")
@click.argument("name")
@click.pass_obj
def build_snapshots(project: Path, environment: str, name: str) -> None:
    """Build the snapshot NAME, which ENVIRONMENT declares.

    \b
    harness snapshot build drive_thru breakfast
    """
    from harness.cli.console import say
    from harness.sandbox.environment import load_environment
    from harness.sandbox.images.store import ImageStore
    from harness.sandbox.snapshots import SnapshotStore

    images = ImageStore(project)
    declared = load_environment(project, environment)
    for image in (declared.image, *(declared.image_of(service) for service in declared.services)):
        images.build(image, say)
    snapshot = SnapshotStore(project, images).build(environment, name, say)
    click.echo(f"{environment}/{name}  {snapshot.digest}")


@snapshot_command.command("verify")
@click.argument("snapshots", nargs=-1, metavar="[ENVIRONMENT/NAME]...")
@click.pass_obj
def verify(project: Path, snapshots: tuple[str, ...]) -> None:
    """List snapshots (default: all), each compared with the files on disk, byte by byte.

    If a file differs, the message names it, and the exit status is 3.
    """
    from harness.sandbox.snapshots import SnapshotStore

    store = SnapshotStore(project)
    names = snapshots or tuple(f"{found.environment}/{found.name}" for found in store.list())
    for name in names:
        snapshot = store.verify(*_split(name))
        contents = f"{len(snapshot.files)} files, {len(snapshot.dumps)} dumps"
        click.echo(f"{name:32} as built  {snapshot.digest[:16]}  {contents}")


def _split(name: str) -> tuple[str, str]:
    environment, slash, state = name.partition("/")
    if not slash or not environment or not state:
        raise UsageError(
            f"invalid snapshot name {name!r}", remedy="expected ENVIRONMENT/NAME, for example drive_thru/breakfast"
        )
    return environment, state
