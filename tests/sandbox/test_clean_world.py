"""A check's command runs nothing that the agent has left, and does where it is not kept from it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.case.case import Limits
from harness.sandbox.conformance.stand import seal_file
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.providers import PROVIDERS, open_provider
from harness.sandbox.snapshot import Snapshot
from harness.trace.trial import ProgramExit

LEAVES = """
import os, sys
home = os.environ["HOME"]
os.makedirs("bin")
for name in ("json.py", "base64.py", "sitecustomize.py", "usercustomize.py"):
    with open(name, "w") as module:
        module.write("print('CAPTURED by', __file__)")
for version in range(10, 18):  # in `local` the system's Python may be another than the harness's
    packages = f"{home}/.local/lib/python3.{version}/site-packages"
    os.makedirs(packages)
    with open(f"{packages}/capture.pth", "w") as pth:
        pth.write("import sys; print('CAPTURED by a .pth')")
for name in (".bashrc", ".profile", ".bash_profile", ".start"):
    with open(name, "w") as start:
        start.write(f"echo CAPTURED by {name}")
with open("bin/date", "w") as program:
    program.write("#!/bin/sh\\necho CAPTURED by the program")
os.chmod("bin/date", 0o755)
"""
CHECK = b"import json, base64; print(json.dumps('checked'))"
CAPTURES = {
    "a module beside the script": ["python3", "{work}/check.py"],
    "a module in the working directory": ["python3", "-c", "import json"],
    "a user's packages": ["/usr/bin/python3", "-c", "import sys"],
    "a start file of the login shell": ["sh", "-l", "-c", "true"],
    "a start file of a variable": ["bash", "-c", "true"],
    "a program in PATH": ["date", "+%Y"],
    "a program by its path": ["{work}/bin/date"],
}


@dataclass(frozen=True, kw_only=True)
class Left:
    """What an agent has left, in the sandboxes of one kind."""

    provider: SandboxProvider
    snapshot: Snapshot
    archive: Path

    def run(self, command: list[str], **changes: object) -> ProgramExit:
        spec = SandboxSpec(trial_id="check", limits=Limits(), end_state_from=self.archive, inspects=True, own_home=True)
        sandbox = self.provider.start(replace(spec, **changes), self.snapshot)  # type: ignore[arg-type]
        try:
            return sandbox.exec([part.replace("{work}", sandbox.places.work) for part in command], {}, 30)
        finally:
            sandbox.close()

    def run_carelessly(self, command: list[str]) -> ProgramExit:
        return self.run(command, inspects=False, own_home=False)


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name == "local" else [pytest.mark.docker]) for name in PROVIDERS],
)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    provider, folder = open_provider(request.param, run="clean-world"), tmp_path_factory.mktemp("left")
    image = request.getfixturevalue("base_image") if provider.isolates else None
    check = seal_file(folder, "/work/check.py", CHECK)
    script = seal_file(folder, "/work/check.sh", b"#!/bin/sh\necho ran\n", mode=0o755)
    snapshot = Snapshot(name="s", environment="e", files=(check, script), folder=folder, image=image)
    sandbox = provider.start(SandboxSpec(trial_id="agent", limits=Limits()), snapshot)
    try:
        ended = sandbox.exec(["python3", "-c", LEAVES], {}, 30)
        assert 0 == ended.code, ended.stderr
        sandbox.end_state(folder / "end.tar")
    finally:
        sandbox.close()
    work = "/work" if provider.isolates else "relative"
    env = (
        {"PATH": f"{work}/bin:bin:/usr/bin:/bin", "BASH_ENV": ".start"} if provider.isolates else {"BASH_ENV": ".start"}
    )
    yield Left(provider=provider, snapshot=snapshot.model_copy(update={"env": env}), archive=folder / "end.tar")
    provider.close()


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_the_agent_left_does_not_run(left: Left, capture: str) -> None:
    if left.provider.isolates or "PATH" not in capture:  # in `local` the folder has another name each time
        assert "CAPTURED" in left.run_carelessly(CAPTURES[capture]).stdout
    ended = left.run(CAPTURES[capture])
    assert "CAPTURED" not in ended.stdout
    assert ended.code == (126 if "by its path" in capture else 0), ended.stderr


def test_the_check_itself_runs_and_reads(left: Left) -> None:
    assert '"checked"\n' == left.run(["python3", "{work}/check.py"]).stdout
    assert "ran\n" == left.run(["{work}/check.sh"]).stdout
    assert 0 == left.run(["test", "-f", "{work}/bin/date"]).code
    listed = left.run(["sh", "-c", 'ls -A . "$HOME"; pwd; echo "$HOME"']).stdout
    assert [".:", ""] == listed.splitlines()[:2]
    assert "json.py" not in listed


def test_what_is_declared_is_done(left: Left) -> None:
    assert "check.py" in left.run(["ls"], cwd="/work").stdout
    assert "CAPTURED by the program\n" == left.run(["{work}/bin/date"], inspects=False).stdout
    assert 0 == left.run(["sh", "-c", "echo more >> {work}/json.py"], inspects=False).code


@pytest.mark.docker
def test_what_the_agent_left_cannot_be_changed(left: Left) -> None:
    if not left.provider.isolates:  # there nothing is kept from anybody
        return
    for harm in ("echo x >> {work}/json.py", "rm {work}/json.py", "chmod +x {work}/json.py", "touch {work}/more"):
        assert 0 != left.run(["sh", "-c", harm]).code
