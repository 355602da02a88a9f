"""`harness image`: images of sandboxes and services."""

import platform
from pathlib import Path

import click


@click.group("image")
def command() -> None:
    """Build and list the images of sandboxes and services."""


@command.command("build")
@click.argument("names", nargs=-1)
@click.option("--install-tools", is_flag=True, help="Install mmdebstrap if it is missing (as root, on Debian).")
@click.option("--lock", "write_lock", is_flag=True, help="Write images/lock.toml: digests and packages of all images.")
@click.pass_obj
def build(project: Path, names: tuple[str, ...], install_tools: bool, write_lock: bool) -> None:
    """Build NAMES (default: all images of the project) and their base images.

    \b
    harness image build base
    harness image build --lock

    An image is identified by the digest of its inputs, so that a second build only looks it up. If no registry is
    reachable, Debian is built from its packages; that needs mmdebstrap.
    """
    from harness.cli.output.console import say
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
@click.option(
    "--machine",
    default=platform.machine(),
    show_default=True,
    help="Machine architecture; default: that of the container engine.",
)
@click.pass_obj
def lock(project: Path, names: tuple[str, ...], machine: str) -> None:
    """Write images/NAME/requirements.txt: the packages of requirements.in, pinned with hashes.

    \b
    echo "kinto>=16" > images/kinto/requirements.in
    harness image lock kinto

    pip chooses the versions from its configured index, among those with a wheel for the image's Python. The file
    contains names, versions and hashes, but no URLs.
    """
    from harness.cli.output.console import say
    from harness.sandbox import lock_requirements

    for name in names:
        click.echo(f"wrote {lock_requirements(project, name, machine, say)}")


@command.command("list")
@click.pass_obj
def list_images(project: Path) -> None:
    """List the project's images, and whether they are built."""
    from harness.errors import ImageError
    from harness.sandbox import ImageStore

    store = ImageStore(project)
    for name in store.names():
        try:
            click.echo(f"{name:24} built    {store.tag(name)}")
        except ImageError:
            click.echo(f"{name:24} missing  harness image build {name}")
