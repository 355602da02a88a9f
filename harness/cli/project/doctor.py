"""`harness doctor`: checks this machine and cleans up after crashed runs."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.errors import EngineUnavailable, ExitCode

if TYPE_CHECKING:
    from harness.sandbox import EngineFacts, ImageStore


@dataclass(frozen=True)
class DoctorLine:
    """One result: a program or setting that is present, or missing with a remedy."""

    subject: str
    good: bool
    text: str
    remedy: str | None = None


@click.command("doctor")
@click.option(
    "--clean/--no-clean",
    default=True,
    show_default=True,
    help="Remove the containers, networks and files that crashed runs left, or only list them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def command(ctx: click.Context, clean: bool, as_json: bool) -> None:
    """Check this machine for missing programs, print how to install them, and clean up after crashed runs.

    Resources of running runs are never touched. Exit 3 if containers cannot be used; the sandbox `local` works without
    them.
    """
    from harness.cli.output.console import print_json

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
    yield _tool("mmdebstrap", "needed only if no registry is reachable: as root, apt-get install mmdebstrap")
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
        yield DoctorLine("recording", False, f"{journal} was not merged into its cassette", f"harness record {suite}")
    yield from _open_models(project)


def _open_models(project: Path) -> Iterator[DoctorLine]:
    """The suites whose agents may ask their provider for any model, at any price."""
    from harness.case import load_suite, suite_names
    from harness.errors import HarnessError

    for name in suite_names(project):
        try:
            model = load_suite(project, name).model
        except HarnessError as error:
            yield DoctorLine("suite", False, f"{name}: {error.message}", error.remedy)
            continue
        if model is not None and not model.models:
            text = f"{name}: its agent may ask for any model that its key can use"
            yield DoctorLine("models", False, text, "list them in suite.yaml: model: {models: [...]}")


def _engine(images: "ImageStore") -> Iterator[DoctorLine]:
    from harness.errors import ImageError
    from harness.sandbox import engine_facts

    facts = engine_facts(images.client)
    rootless = ", rootless" if facts.rootless else ""
    drivers = f"{facts.driver}, cgroup {facts.cgroups}{rootless}"
    yield DoctorLine("engine", True, f"{facts.name} {facts.version}, {drivers}, {facts.kernel}")
    for lack in facts.lacks:
        yield DoctorLine("engine lacks", False, lack, "docs/reference/engines.md says what follows")
    yield _runtimes(facts)
    yield _services()
    for name in images.names():
        try:
            yield DoctorLine("image", True, images.tag(name))
        except ImageError:
            yield DoctorLine("image", False, f"{name} is not built yet", f"harness image build {name}")


def _runtimes(facts: "EngineFacts") -> DoctorLine:
    default = facts.default_runtime
    names = (f"{name} (default)" if name == default else name for name in facts.runtimes)
    return DoctorLine("runtimes", True, ", ".join(names))


def _services() -> DoctorLine:
    from harness.sandbox import why_unguarded

    reason = why_unguarded()
    if reason is None:
        return DoctorLine("services", True, "cannot reach servers on this machine: a packet filter rule blocks them")
    return DoctorLine(
        "services",
        False,
        "can reach servers that listen on all addresses of this machine: the packet filter rule cannot be set"
        f" ({reason})",
        "run as root with `iptables` installed, or stop servers that services must not reach",
    )


def _tool(name: str, remedy: str) -> DoctorLine:
    found = shutil.which(name)
    return DoctorLine(name, found is not None, found or "missing", None if found else remedy)


def _show(finding: DoctorLine) -> None:
    remedy = f"\n             -> {finding.remedy}" if finding.remedy else ""
    click.echo(f"{'ok' if finding.good else '--':3} {finding.subject:12} {finding.text}{remedy}")
