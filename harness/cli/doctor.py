"""`harness doctor`: what this machine has, what it lacks and how to get it, and what dead runs left."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import EngineUnavailable, ExitCode

if TYPE_CHECKING:
    from harness.sandbox import ImageStore


@dataclass(frozen=True)
class DoctorLine:
    """One line of what there is, or of what is missing with its remedy."""

    subject: str
    good: bool
    text: str
    remedy: str | None = None


@click.command("doctor")
@click.option(
    "--clean/--no-clean", default=True, show_default=True, help="Remove what dead runs left, or only list it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def command(ctx: click.Context, clean: bool, as_json: bool) -> None:
    """Say what is missing on this machine and how to get it, and remove what dead runs left.

    What living runs use is never touched. Exit 3 where containers cannot be used; the sandbox `local` works all the
    same.
    """
    from harness.cli.console import print_json

    findings = []
    for finding in _findings(ctx.obj, clean):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    engine = all(finding.good for finding in findings if finding.subject == "engine")
    ctx.exit(ExitCode.DONE if engine else ExitCode.COULD_NOT)


def _findings(project: Path, clean: bool) -> Iterator[DoctorLine]:
    from harness.cassette import journals_left
    from harness.sandbox import ImageStore, connect, left_in_engine, left_in_project, left_on_machine, remove_all

    yield DoctorLine("python", True, f"{platform.python_version()} at {sys.executable}")
    yield DoctorLine("machine", True, f"{platform.system()} {platform.release()}, {os.cpu_count()} processors")
    left = left_on_machine()
    try:
        client = connect()
    except EngineUnavailable as error:
        yield DoctorLine("engine", False, error.message, error.remedy)
    else:
        yield from _engine(ImageStore(project, client))
        left += left_in_engine(client)
    yield _tool("mmdebstrap", "only where no registry answers: as root, apt-get install mmdebstrap")
    left += left_in_project(project)
    if clean:
        removed = remove_all(left)
        yield DoctorLine("left behind", True, f"removed {', '.join(removed)}" if removed else "nothing")
    elif left:
        yield DoctorLine("left behind", False, ", ".join(map(str, left)), "harness doctor --clean")
    else:
        yield DoctorLine("left behind", True, "nothing")
    for journal in journals_left(project / "cassettes"):
        suite = journal.parent.name
        yield DoctorLine("recording", False, f"{journal} was never put onto its cassette", f"harness record {suite}")


def _engine(images: "ImageStore") -> Iterator[DoctorLine]:
    from harness.errors import ImageError

    info = images.client.info()
    drivers = f"{info['Driver']}, cgroup {info.get('CgroupVersion', '?')}"
    yield DoctorLine("engine", True, f"Docker {info['ServerVersion']}, {drivers}, {info['KernelVersion']}")
    yield _runtimes(info)
    yield _services()
    for name in images.names():
        try:
            yield DoctorLine("image", True, images.tag(name))
        except ImageError:
            yield DoctorLine("image", False, f"{name} is not built yet", f"harness image build {name}")


def _runtimes(info: dict[str, Any]) -> DoctorLine:
    names = sorted(name for name in info.get("Runtimes") or {} if not name.startswith("io.containerd."))
    default = info.get("DefaultRuntime", "?")
    return DoctorLine("runtimes", True, ", ".join(f"{name} (default)" if name == default else name for name in names))


def _services() -> DoctorLine:
    from harness.sandbox import why_unguarded

    reason = why_unguarded()
    if reason is None:
        return DoctorLine("services", True, "are kept from what this machine serves, by a rule of its packet filter")
    return DoctorLine(
        "services",
        False,
        f"can reach what this machine serves on all of its addresses: no rule can be set ({reason})",
        "run as root where there is `iptables`, or let nothing listen that services must not reach",
    )


def _tool(name: str, remedy: str) -> DoctorLine:
    found = shutil.which(name)
    return DoctorLine(name, found is not None, found or "missing", None if found else remedy)


def _show(finding: DoctorLine) -> None:
    remedy = f"\n             -> {finding.remedy}" if finding.remedy else ""
    click.echo(f"{'ok' if finding.good else '--':3} {finding.subject:12} {finding.text}{remedy}")
