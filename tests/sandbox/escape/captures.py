"""What an agent leaves so that a check's command runs it, and the command: as the harness runs it, and carelessly."""

from dataclasses import dataclass, replace
from pathlib import Path

from harness.sandbox.conformance.provider_fixture import snapshot_entry
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from harness.traces.trial import ProgramExit

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
        sandbox = self.provider.start(replace(spec, **changes), self.snapshot)
        try:
            return sandbox.exec([part.replace("{work}", sandbox.places.work) for part in command], {}, 30)
        finally:
            sandbox.close()

    def run_carelessly(self, command: list[str]) -> ProgramExit:
        return self.run(command, inspects=False, own_home=False)

    def captured(self, capture: str) -> bool:
        """Whether what the agent left ran."""
        return "CAPTURED" in self.run(CAPTURES[capture]).stdout

    def captured_carelessly(self, capture: str) -> bool:
        """The control: the sandbox is the agent's own, with its HOME, its variables and its working directory."""
        return "CAPTURED" in self.run_carelessly(CAPTURES[capture]).stdout


def left_by_an_agent(provider: SandboxProvider, image: str | None, folder: Path) -> Left:
    """Lets an agent leave all of it in a sandbox of the provider; `folder` is the host's."""
    check = snapshot_entry(folder, "/work/check.py", CHECK)
    script = snapshot_entry(folder, "/work/check.sh", b"#!/bin/sh\necho ran\n", mode=0o755)
    snapshot = Snapshot(name="s", environment="e", files=(check, script), folder=folder, image=image)
    sandbox = provider.start(SandboxSpec(trial_id="agent", limits=Limits()), snapshot)
    try:
        ended = sandbox.exec(["python3", "-c", LEAVES], {}, 30)
        assert 0 == ended.code, ended.stderr
        sandbox.end_state(folder / "end.tar")
    finally:
        sandbox.close()
    env = {"BASH_ENV": ".start"}
    if provider.isolates:  # in `local` the folder has another name each time
        env["PATH"] = "/work/bin:bin:/usr/bin:/bin"
    return Left(provider=provider, snapshot=snapshot.model_copy(update={"env": env}), archive=folder / "end.tar")
