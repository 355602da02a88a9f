import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.processes import ProcessIdentity
from harness.sandbox.ownership import (
    SOCKET_PATH_MAX,
    private_folder,
    private_folders_left,
    remove_left_folder,
    remove_private_folder,
)

_OWNER_OF_A_PROCESS_THAT_ENDS = (
    "from harness.sandbox.ownership import ProcessIdentity; print(ProcessIdentity.current())"
)
_FOLDER_OF_A_PROCESS_THAT_ENDS = (
    "from harness.sandbox.ownership import private_folder\n"
    "f = private_folder(); (f / 'shut').mkdir(); (f / 'shut/x').touch(); (f / 'shut').chmod(0); print(f)"
)


def _printed(code: str, **env: str) -> str:
    environment = {**os.environ, **env}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


def _dead_owner() -> ProcessIdentity:
    owner = ProcessIdentity.parse(_printed(_OWNER_OF_A_PROCESS_THAT_ENDS))
    assert owner is not None
    return owner


def test_this_process_is_alive_and_survives_being_written() -> None:
    assert ProcessIdentity.parse(str(ProcessIdentity.current())) == ProcessIdentity.current()
    assert ProcessIdentity.current().is_alive()


def test_process_that_ended_is_dead() -> None:
    assert not _dead_owner().is_alive()


def test_process_id_given_to_another_process_is_dead() -> None:
    current = ProcessIdentity.current()
    reused = ProcessIdentity(
        machine=current.machine, boot=current.boot, namespace=current.namespace, pid=os.getpid(), started="1"
    )
    assert not reused.is_alive()


def test_owner_before_the_last_boot_is_dead() -> None:
    assert not ProcessIdentity.parse(
        str(ProcessIdentity.current()).replace(ProcessIdentity.current().boot, "old", 1)
    ).is_alive()


@pytest.mark.parametrize("part", ["machine", "namespace"])
def test_owner_that_cannot_be_judged_from_here_counts_as_alive(part: str) -> None:
    dead = _dead_owner()
    assert ProcessIdentity.parse(str(dead).replace(getattr(dead, part), "other", 1)).is_alive()


def test_private_folder_is_closed_to_others_and_can_be_mounted() -> None:
    folder = private_folder()
    try:
        assert [oct(f.stat().st_mode & 0o777) for f in (folder, folder.parent, folder.parent.parent)] == [
            "0o755",
            "0o700",
            "0o700",
        ]
    finally:
        remove_private_folder(folder)
    assert not folder.exists()


def test_sockets_fit_where_the_temporary_folder_has_a_long_name(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir()
    code = (
        "import socket; from harness.sandbox.ownership import private_folder, remove_private_folder\n"
        "f = private_folder()\n"
        "with socket.socket(socket.AF_UNIX) as s: s.bind(str(f / 'control.sock'))\n"
        "print(len(str(f / 'control.sock'))); remove_private_folder(f)"
    )
    assert int(_printed(code, TMPDIR=str(long))) <= SOCKET_PATH_MAX
    assert list(long.iterdir()) == []


def test_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        (Path(short) / f"harness-{os.getuid()}").symlink_to(tmp_path)
        code = (
            "import os\n"
            "from harness.sandbox.ownership import ProcessIdentity, private_folder\n"
            "from harness.errors import SandboxError\n"
            f"os.mkdir('{short}/harness-{os.getuid()}/' + str(ProcessIdentity.current()))\n"
            "try: private_folder()\n"
            "except SandboxError as error: print(error.message)"
        )
        assert f"{short}/harness-{os.getuid()} " in _printed(code, TMPDIR=short)


def test_folders_of_the_dead_are_removed_and_those_of_the_living_are_kept() -> None:
    kept = private_folder()
    left = Path(_printed(_FOLDER_OF_A_PROCESS_THAT_ENDS))
    try:
        assert left.exists()
        found = private_folders_left()
        assert (left.parent in found, kept.parent in found) == (True, False)
        assert remove_left_folder(left.parent)
        assert (left.parent.exists(), kept.exists()) == (False, True)
    finally:
        remove_private_folder(kept)


@pytest.mark.slow
def test_folder_deeper_than_any_path_is_removed() -> None:
    folder = private_folder()
    (folder / "link").symlink_to(folder.parent)
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(1200):  # deeper than Python's stack, and 240,000 bytes of a path
        os.mkdir("d" * 200, dir_fd=fd)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(os.open("file", os.O_CREAT, dir_fd=inner))
        os.fchmod(fd, 0o500 if os.fstat(fd).st_ino != folder.stat().st_ino else 0o700)
        os.close(fd)
        fd = inner
    os.close(fd)
    remove_private_folder(folder)
    assert not folder.exists()
