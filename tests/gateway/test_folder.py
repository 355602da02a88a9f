"""Where the sockets lie: short enough, private, and removed also after a kill."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

LONG = """
import sys
from pathlib import Path
from harness.case import AgentVersion, Case, Suite
from harness.gateway import SessionRequest
from harness.gateway.gateway import Gateway
case = Case(id="c", task="t")
agents = {"a": AgentVersion(command=("a",), files="a")}
suite = Suite(name="s", folder=Path(), agents=agents, default_agent="a", cases=(case,), digest="0" * 64)
with Gateway(suite, "replay", cassettes=Path()) as gateway:
    print(gateway.open(SessionRequest(trial_id="t", case=case, attempt=1, agent="a")).socket)
"""


def test_a_long_temporary_folder_does_not_matter(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LONG],
        env=os.environ | {"TMPDIR": str(long)},
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.startswith(b"/tmp/hgw-")


KILLED = (
    LONG.replace("    print(", "    import os; print(")
    + """
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
"""
)


def test_what_a_killed_gateway_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    def run(script: str) -> Path:
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, timeout=60, check=False
        )
        return Path(done.stdout.decode().strip()).parent.parent

    left = run(KILLED)
    os.utime(left, (0, 0))
    used = tmp_path / "hgw-used"
    used.mkdir()
    handle = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.utime(used, (0, 0))
        run(LONG)
    finally:
        os.close(handle)

    assert (left.exists(), used.exists()) == (False, True)
