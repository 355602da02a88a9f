"""`harness image`: what sandboxes and services run in."""

import platform
from pathlib import Path

import click


@click.group("image")
def command() -> None:
    """Build and list the images that sandboxes and services run in."""


@command.command("build")
@click.argument("names", nargs=-1)
@click.option("--install-tools", is_flag=True, help="As root on Debian: install mmdebstrap where it is missing.")
@click.option("--lock", "write_lock", is_flag=True, help="Write images/lock.toml: digests and packages of all images.")
@click.pass_obj
def build(project: Path, names: tuple[str, ...], install_tools: bool, write_lock: bool) -> None:
    """Build NAMES (all images of the project where none is given) and what they build on.

    \b
    harness image build base
    harness image build --lock

    An image is found again by the digest of its inputs, so that a second build is a look-up. Where no registry
    answers, Debian is put together from its packages; that needs mmdebstrap.
    """
    from harness.cli.console import say
    from harness.sandbox import ImageStore
    from harness.sandbox import install_tools as install_missing_tools

    if install_tools:
        install_missing_tools(say)
    store = ImageStore(project)
    for name in names or store.names():
        built = store.build(name, say)
        state = "there" if built.reused else "built"
        click.echo(f"{built.name:24} {state}  {built.size_mb:5} MB  {built.tag}")
    if write_lock:
        click.echo(f"wrote {store.lock(say)}")


@command.command("lock")
@click.argument("names", nargs=-1, required=True)
@click.option("--machine", default=platform.machine(), show_default=True, help="Of the container engine.")
@click.pass_obj
def lock(project: Path, names: tuple[str, ...], machine: str) -> None:
    """Write images/NAME/requirements.txt: what requirements.in beside it asks for, pinned with hashes.

    \b
    echo "kinto>=16" > images/kinto/requirements.in
    harness image lock kinto

    Versions are chosen by pip, from the index that it is set up for, among those that have a wheel for the image's
    Python. Name, version and hash are written, never an address.
    """
    from harness.cli.console import say
    from harness.sandbox import lock_requirements

    for name in names:
        click.echo(f"wrote {lock_requirements(project, name, machine, say)}")


@command.command("list")
@click.pass_obj
def list_images(project: Path) -> None:
    """List the project's images, and which of them are built."""
    from harness.errors import ImageError
    from harness.sandbox import ImageStore

    store = ImageStore(project)
    for name in store.names():
        try:
            click.echo(f"{name:24} there    {store.tag(name)}")
        except ImageError:
            click.echo(f"{name:24} missing  harness image build {name}")
