"""`harness doctor`: what this machine has, what it lacks and how to get it, and what dead runs left."""

import os
import platform
import shutil
import sys
from pathlib import Path

import click

from harness.errors import ExitCode


@click.command("doctor")
@click.option("--clean/--no-clean", default=True, show_default=True, help="Remove what dead runs left.")
@click.pass_context
def command(ctx: click.Context, clean: bool) -> None:
    """Say what is missing on this machine and how to get it, and remove what dead runs left.

    Exit 3 where containers cannot be used; the sandbox `local` works all the same.
    """
    project: Path = ctx.obj
    _line("python", True, f"{platform.python_version()} at {sys.executable}")
    _line("machine", True, f"{platform.system()} {platform.release()}, {os.cpu_count()} processors")
    ctx.exit(_engine(project, clean))


def _engine(project: Path, clean: bool) -> ExitCode:
    from harness.errors import EngineUnavailable, ImageError
    from harness.sandbox.engine import connect, reap
    from harness.sandbox.images import ImageStore

    try:
        client = connect()
    except EngineUnavailable as error:
        _line("engine", False, f"{error.message}\n             -> {error.remedy}")
        return ExitCode.COULD_NOT
    info = client.info()
    drivers = f"{info['Driver']}, cgroup {info.get('CgroupVersion', '?')}"
    _line("engine", True, f"Docker {info['ServerVersion']}, {drivers}, {info['KernelVersion']}")
    images = ImageStore(project, client)
    for name in images.names():
        try:
            _line("image", True, images.tag(name))
        except ImageError:
            _line("image", False, f"{name} is not built yet\n             -> harness image build {name}")
    _tool("mmdebstrap", "only where no registry answers: as root, apt-get install mmdebstrap")
    removed = reap(client) if clean else []
    _line("left behind", True, "nothing" if not removed else f"removed {', '.join(removed)}")
    return ExitCode.DONE


def _tool(name: str, remedy: str) -> None:
    found = shutil.which(name)
    _line(name, found is not None, found or f"missing\n             -> {remedy}")


def _line(subject: str, good: bool, text: str) -> None:
    click.echo(f"{'ok' if good else '--':3} {subject:12} {text}")
