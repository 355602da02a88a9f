"""The local sandbox's own: it says what it is, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import snapshot_entry
from harness.sandbox.providers import open_provider
from harness.sandbox.snapshot import Snapshot
from tests.sandbox.starting import empty, spec

_KILLED_HARNESS = """
from harness.suite.cases import Limits
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.providers import open_provider
from harness.sandbox.snapshot import Snapshot
provider = open_provider("local", run="killed")
sandbox = provider.start(SandboxSpec(trial_id="killed", limits=Limits()), Snapshot(name="empty", environment="base"))
print(sandbox.places.work, flush=True)
sandbox.exec(["sh", "-c", "while :; do echo >> ticks; sleep 0.02; done"], {}, 600)
"""


def test_it_cannot_pin_the_clock_and_says_so() -> None:
    provider = open_provider("local", run="tests")
    with pytest.raises(SandboxError, match="--sandbox docker"):
        provider.start(spec(clock="2024-01-01T00:00:00Z"), empty())


def test_nothing_of_the_callers_environment_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    provider = open_provider("local", run="tests")
    try:
        sandbox = provider.start(spec(), empty())
        assert sandbox.exec(["sh", "-c", "env | grep -c SECRET"], {}, 10).stdout == "0\n"
    finally:
        provider.close()


def test_a_sealed_file_that_goes_missing_between_two_trials_is_named(tmp_path: Path) -> None:
    sealed = (snapshot_entry(tmp_path, "/work/kept", b"1"), snapshot_entry(tmp_path, "/work/lost", b"2"))
    snapshot = Snapshot(name="two", environment="base", files=sealed, folder=tmp_path)
    provider = open_provider("local", run="tests")
    try:
        sandbox = provider.start(spec(), snapshot)
        assert sandbox.exec(["cat", "kept", "lost"], {}, 10).stdout == "12"
        (tmp_path / "files" / "work" / "lost").unlink()
        with pytest.raises(SandboxError, match=r"work/lost.*No such file or directory"):
            provider.start(spec(), snapshot)
    finally:
        provider.close()


def test_folder_goes_with_the_sandbox() -> None:
    provider = open_provider("local", run="tests")
    sandbox = provider.start(spec(), empty())
    sandbox.exec(["sh", "-c", "mkdir -p shut/er; chmod 0 shut/er shut"], {}, 10)
    work = Path(sandbox.places.work)
    assert work.exists()
    provider.close()
    assert not work.exists()
    with pytest.raises(SandboxError, match="closed"):
        provider.start(spec(), empty())


def test_programs_of_a_killed_harness_end_and_its_folder_is_reaped() -> None:
    with tempfile.TemporaryDirectory(prefix="h-", dir="/tmp") as apart:  # others reap too, and would be quicker
        own = {**os.environ, "TMPDIR": apart}
        harness = subprocess.Popen([sys.executable, "-c", _KILLED_HARNESS], stdout=subprocess.PIPE, text=True, env=own)
        assert harness.stdout is not None
        work = Path(harness.stdout.readline().strip())
        assert work.is_relative_to(apart)
        ticks = work / "ticks"
        until = time.monotonic() + 60
        while not ticks.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        os.kill(harness.pid, signal.SIGKILL)
        harness.wait()
        harness.stdout.close()
        modified = 0
        while modified != (modified := ticks.stat().st_mtime_ns):  # until it is ended, which may take a moment
            assert time.monotonic() < until
            time.sleep(0.5)
        reap = (
            "from harness.sandbox.leftovers import left_on_machine, remove_all; print(*remove_all(left_on_machine()))"
        )
        reaped = subprocess.run([sys.executable, "-c", reap], env=own, capture_output=True, text=True, check=True)
        assert str(work).startswith(reaped.stdout.strip().removeprefix("folder "))
        assert "folder " in reaped.stdout
        assert not work.exists()
