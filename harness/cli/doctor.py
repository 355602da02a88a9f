"""`harness doctor`, `harness self-test` and `harness --version`: this machine and this installation."""

import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import __version__
from harness.errors import EngineUnavailable, ExitCode
from harness.plugins import DISTRIBUTION

if TYPE_CHECKING:
    from harness.sandbox.images.store import ImageStore


# `harness doctor`: checks this machine and cleans up after crashed runs.


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
def doctor_command(ctx: click.Context, clean: bool, as_json: bool) -> None:
    """Check this machine for missing programs, print how to install them, and clean up after crashed runs.

    Resources of running runs are never touched. Exit 3 if containers cannot be used; the sandbox `local` works without
    them.
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
    from harness.cassettes.journals import journals_left
    from harness.sandbox.engine import connect
    from harness.sandbox.images.store import ImageStore
    from harness.sandbox.leftovers import left_in_engine, left_in_project, left_on_machine, remove_all

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
    found, remedy = shutil.which("mmdebstrap"), "needed only if no registry is reachable: apt-get install mmdebstrap"
    yield DoctorLine("mmdebstrap", found is not None, found or "missing", None if found else remedy)
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
    from harness.errors import HarnessError
    from harness.suite.loading import load_suite
    from harness.suite.suite_file import suite_names

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
    from harness.sandbox.engine import engine_facts

    facts = engine_facts(images.client)
    rootless = ", rootless" if facts.rootless else ""
    drivers = f"{facts.default_runtime}, {facts.driver}, cgroup {facts.cgroups}{rootless}"
    yield DoctorLine("engine", True, f"{facts.name} {facts.version}, {drivers}, {facts.kernel}")
    for lack in facts.lacks:
        yield DoctorLine("engine lacks", False, lack, "docs/reference/engines.md says what follows")
    yield _services()
    for name in images.names():
        try:
            yield DoctorLine("image", True, images.tag(name))
        except ImageError:
            yield DoctorLine("image", False, f"{name} is not built yet", f"harness image build {name}")


def _services() -> DoctorLine:
    from harness.sandbox.host_guard import why_unguarded

    reason = why_unguarded()
    if reason is None:
        text = "servers on this machine are protected from an environment's services by a packet filter rule"
        return DoctorLine("protection", True, text)
    return DoctorLine(
        "protection",
        False,
        "servers that listen on all addresses of this machine are not protected from an environment's services: the"
        f" packet filter rule cannot be set ({reason})",
        "run as root with `iptables` installed, or stop servers that services must not reach",
    )


def _show(finding: DoctorLine) -> None:
    remedy = f"\n             -> {finding.remedy}" if finding.remedy else ""
    click.echo(f"{'ok' if finding.good else '--':3} {finding.subject:12} {finding.text}{remedy}")


# `harness self-test`: tries on this machine what the harness promises.

_MARKS = {"works": "ok", "fails": "--", "absent": ".."}


@click.command("self-test")
@click.option(
    "--sandbox",
    "sandboxes",
    multiple=True,
    metavar="NAME",
    help="Try only this sandbox; can be repeated. Default: local, docker and docker-warm.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.pass_context
def self_test_command(ctx: click.Context, sandboxes: tuple[str, ...], as_json: bool) -> None:
    """Try on this machine what the harness promises of its sandboxes.

    \b
    harness self-test
    harness self-test --sandbox local
    harness self-test --json

    Takes about two minutes. Everything happens in a temporary folder. A sandbox whose engine or image is
    missing is named with the remedy. Exit 3 if a guarantee does not hold or could not be tried.
    """
    from harness.cli.console import print_json, say
    from harness.sandbox.ownership import temporary_folder
    from harness.sandbox.self_test import self_test

    began, results = time.monotonic(), []
    chosen = sandboxes or ("local", "docker", "docker-warm")
    with temporary_folder() as folder:
        for one in self_test(folder, chosen, say):
            results.append(one)
            if not as_json:
                click.echo(f"{_MARKS[one.state]:3} {one.sandbox:12} {one.text} ({one.seconds:.0f} s)")
                for problem in one.problems:
                    click.echo(f"    {'':12} {problem}")
                if one.remedy:
                    click.echo(f"    {'':12} -> {one.remedy}")
    works = sum(one.state == "works" for one in results)
    if as_json:
        print_json([one.model_dump(mode="json") for one in results])
    else:
        absent = sum(one.state == "absent" for one in results)
        fails = len(results) - works - absent
        click.echo(f"\n{works} work, {fails} fail, {absent} not tried, in {time.monotonic() - began:.0f} s")
    ctx.exit(ExitCode.DONE if works == len(results) else ExitCode.COULD_NOT)


# `harness --version`: versions for a bug report.

_OF_DEVELOPERS = re.compile(r"extra == ['\"]dev")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def version_lines() -> Iterator[str]:
    """The lines of the output."""
    yield f"harness {__version__}"
    yield f"python {platform.python_version()} ({platform.python_implementation()})"
    yield f"platform {platform.platform()}"
    yield f"engine {_engine_version()}"
    yield f"libraries {', '.join(_libraries())}"


def _engine_version() -> str:
    from harness.sandbox.engine import connect, engine_facts

    try:
        client = connect()
    except EngineUnavailable:
        return "none that answers"
    with closing(client):
        facts = engine_facts(client)
    return "; ".join((f"{facts.name} {facts.version}, kernel {facts.kernel}", *facts.lacks))


def _libraries() -> Iterator[str]:
    """The libraries that the harness requires, with installed extras."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # the source is run without installation
        return
    for name in sorted({_name(line) for line in required if not _OF_DEVELOPERS.search(line)}):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found.group().lower() if found else requirement
