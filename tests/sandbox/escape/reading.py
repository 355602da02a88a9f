"""Reading back what a hostile program left: as the harness does, and as who does not expect it would."""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

from harness.errors import HarnessError
from harness.sandbox.conformance.provider_fixture import snapshot_entry
from harness.sandbox.endstate import clean_end_state
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits

PROGRAMS = Path(__file__).parent
TRICKS: list[str] = json.loads(
    subprocess.run([sys.executable, PROGRAMS / "tricks.py"], stdout=subprocess.PIPE, check=True).stdout
)
SECRET = b"what only the host may read"
_BYTES_MAX = 80 * 2**20
_ENTRIES_MAX = 20_000
_LIMITS = Limits(memory_mb=128, processes=16, disk_mb=32)


def deceived(provider: SandboxProvider, image: str, trick: str, folder: Path) -> str | None:
    """How the host was deceived, by what is in the archive or by what happens when it is restored; None: it was not.

    `folder` is the host's, and the secret lies in it.
    """
    secret = _secret(folder)
    snapshot = _snapshot(folder / "snapshot", image)
    archive = folder / "archive" / "end.tar"
    before = _everything(folder)
    spec = SandboxSpec(trial_id="escape", limits=_LIMITS, agent_files=PROGRAMS)
    with closing(provider.start(spec, snapshot)) as sandbox:
        ended = sandbox.exec(["python3", f"{sandbox.places.agent}/tricks.py", trick, str(secret)], {}, 120)
        if ended.code != 0:
            return f"the trick was not done: {ended.stderr[-200:]}"
        sandbox.end_state(archive)
    clean_end_state(archive, lambda content: content)
    again = SandboxSpec(trial_id="escape", limits=_LIMITS, end_state_from=archive)
    try:
        with closing(provider.start(again, snapshot)) as sandbox:
            shown = sandbox.exec(["sh", "-c", "cat stolen folder/secret sealed/secret; true"], {}, 60).stdout
    except HarnessError as error:
        return f"what it left cannot be restored: {error}"
    if SECRET.decode() in shown:
        return "the next sandbox shows the secret"
    if _everything(folder) - {archive.parent, archive} != before:
        return "something else was written on the host"
    return _wrong_with(archive)


def deceived_naively(trick: str, folder: Path) -> str | None:
    """The control: the same trick in a folder of the host, read by who follows links and sets no bounds."""
    secret = _secret(folder)
    work = folder / "work"
    (work / "sealed").mkdir(parents=True)
    (work / "sealed" / "note").write_text("sealed")
    command = [sys.executable, str(PROGRAMS / "tricks.py"), trick, str(secret), str(_ENTRIES_MAX * 2)]
    subprocess.run(command, cwd=work, check=True)
    try:
        return _read_naively(work)
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def _read_naively(work: Path) -> str | None:
    """The whole, without end where there is none: stopped where a bound of the harness is passed."""
    size = 0
    for entries, path in enumerate(_walked(work)):
        if not path.name.isprintable():
            return f"a name that deceives: {path.name!r}"
        if not path.stat().st_mode & 0o700:
            return "what its owner cannot open"
        if not path.is_file() and not path.is_dir():
            return "what is neither a file nor a folder"
        size += path.stat().st_size
        if size > _BYTES_MAX or entries > _ENTRIES_MAX:
            return f"more than {entries} entries or {size} bytes"
        if path.is_file() and SECRET in path.read_bytes():
            return "the secret was read"
    return None


def _walked(work: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(work, followlinks=True, onerror=_raise):
        yield from (Path(at) / name for name in (*folders, *names))


def _raise(error: OSError) -> None:
    raise error


def _wrong_with(archive: Path) -> str | None:
    if archive.stat().st_size > _BYTES_MAX:
        return f"the archive has {archive.stat().st_size} bytes"
    with tarfile.open(archive, encoding="utf-8", errors="surrogateescape") as tar:
        members = tar.getmembers()
    for member in members:
        path = PurePosixPath(member.name)
        inside = member.name == "end_state.json" or path.parts[0] == "files"
        if not member.isfile() or not inside or ".." in path.parts or path.is_absolute():
            return f"the archive has {member.name!r}, type {member.type!r}"
    if len(members) > _ENTRIES_MAX + 1:
        return f"the archive has {len(members)} members"
    return "the archive holds the secret" if SECRET in archive.read_bytes() else None


def _secret(folder: Path) -> Path:
    secret = folder / "host" / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(SECRET)
    return secret


def _snapshot(folder: Path, image: str) -> Snapshot:
    files = (snapshot_entry(folder, "/work/sealed/note", b"sealed"),)
    return Snapshot(name="tricks", environment="base", files=files, folder=folder, image=image)


def _everything(folder: Path) -> frozenset[Path]:
    return frozenset(folder.rglob("*"))
