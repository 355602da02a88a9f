"""Where the sockets lie: short enough, private, and removed also after a kill."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ONE = """
import os, sys
from pathlib import Path
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
case = Case(id="c", task="t")
agents = {"a": AgentVersion(command=("a",), files="a")}
suite = Suite(name="s", folder=Path(), agents=agents, cases=(case,), digest="0" * 64)
with Gateway(suite, "replay", cassettes=Path()) as gateway:
    session = gateway.open(SessionRequest(trial_id="t", case=case, attempt=1, agent="a"))
    print(session.socket, flush=True)
"""
KILLED = f"{ONE}    os.kill(os.getpid(), 9)\n"
TWO = f"""{ONE}
    left = Path(sys.argv[1])
    from harness.sandbox.leftovers import left_on_machine, remove_all
    remove_all(left_on_machine())
    print(left.exists(), session.socket.exists())
"""


def run(script: str, temporary: Path, *arguments: str) -> list[str]:
    """What it prints, line by line."""
    environment = os.environ | {"TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=environment, stdout=subprocess.PIPE, timeout=60, text=True
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_long_temporary_folder_does_not_matter(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()

    assert run(ONE, long)[0].startswith(f"/tmp/harness-{os.getuid()}/")


def test_a_session_that_ends_leaves_nothing(tmp_path: Path) -> None:
    assert not Path(run(ONE, tmp_path)[0]).parent.parent.exists()


@pytest.mark.slow
def test_what_a_killed_gateway_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    left = Path(run(KILLED, tmp_path)[0])
    assert left.exists()

    assert "False True" == run(TWO, tmp_path, str(left))[-1]
