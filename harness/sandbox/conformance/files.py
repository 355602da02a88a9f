"""Checks of files: restored from the snapshot, read and written from outside."""

from harness.case import Limits
from harness.errors import SandboxError, SnapshotError
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    answer_of,
    check,
    expect,
    expect_raises,
    isolation_check,
    python,
    shell,
    snapshot_entry,
)
from harness.sandbox.state.snapshot import SnapshotEntry

_LIST = """
import os, json, sys, stat
found = {}
for at, folders, names in os.walk(sys.argv[1]):
    for name in folders + names:
        path = os.path.join(at, name)
        state = os.lstat(path)
        kind = "link" if stat.S_ISLNK(state.st_mode) else "directory" if stat.S_ISDIR(state.st_mode) else "file"
        text = os.readlink(path) if kind == "link" else open(path).read() if kind == "file" else ""
        mode = "" if kind == "link" else oct(state.st_mode & 0o7777)
        found[os.path.relpath(path, sys.argv[1])] = [kind, mode, text]
print(json.dumps(found))
"""


def snapshot_files_are_restored(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot()
    assert snapshot.folder is not None
    files = (
        snapshot_entry(snapshot.folder, "/work/plain.txt", b"plain"),
        snapshot_entry(snapshot.folder, "/work/deep/er/tool.sh", b"#!/bin/sh\nexit 6\n", mode=0o755),
        snapshot_entry(snapshot.folder, "/work/read-only/note", b"note", mode=0o444),
        SnapshotEntry(path="/work/read-only", kind="directory", mode=0o555),
        SnapshotEntry(path="/work/empty", kind="directory", mode=0o700),
        SnapshotEntry(path="/work/link", kind="link", link="deep/er/tool.sh"),
        SnapshotEntry(path="/work/dangling", kind="link", link="/no/where"),
    )
    sandbox = stand.start(snapshot.model_copy(update={"files": files}))
    expect(
        "files",
        answer_of("files", python(sandbox, _LIST, sandbox.places.work)),
        {
            "plain.txt": ["file", "0o644", "plain"],
            "deep": ["directory", "0o755", ""],
            "deep/er": ["directory", "0o755", ""],
            "deep/er/tool.sh": ["file", "0o755", "#!/bin/sh\nexit 6\n"],
            "read-only": ["directory", "0o555", ""],
            "read-only/note": ["file", "0o444", "note"],
            "empty": ["directory", "0o700", ""],
            "link": ["link", "", "deep/er/tool.sh"],
            "dangling": ["link", "", "/no/where"],
        },
    )
    expect("a restored program runs", sandbox.exec(["./link"], {}, 10).code, 6)


def large_snapshot_file_arrives_whole(stand: ProviderFixture) -> None:
    content = bytes(range(256)) * 20_000
    sandbox = stand.start(stand.snapshot({"/work/large": content, "/work/none": b""}))
    expect("content", sandbox.read_file("large", len(content)) == content, True)
    expect("empty file", sandbox.read_file("none"), b"")


def other_writable_places_are_there(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot({"/srv/data/list": b"1"}, writable=("/work", "/tmp", "/srv/data"))
    sandbox = stand.start(snapshot)
    sandbox.write_file("/srv/data/new", b"2")
    expect("content", (sandbox.read_file("/srv/data/list"), sandbox.read_file("/srv/data/new")), (b"1", b"2"))


def snapshot_outside_of_writable_places_is_refused(stand: ProviderFixture) -> None:
    expect_raises("start", SnapshotError, lambda: stand.start(stand.snapshot({"/etc/agent.conf": b""})))


def snapshot_with_a_missing_file_is_refused(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot({"/work/lost": b"x"})
    assert snapshot.folder is not None
    (snapshot.folder / "files/work/lost").unlink()
    expect_raises("start", SnapshotError, lambda: stand.start(snapshot))


def what_is_written_can_be_read(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    sandbox.write_file("a/b/c.bin", b"\x00\xff\n")
    sandbox.write_file("/work/a/b/c.bin", b"\x00\xfe")
    expect("content", sandbox.read_file("/work/a/b/c.bin"), b"\x00\xfe")
    shell(sandbox, "printf more >> a/b/c.bin")
    expect("as the agent's own", sandbox.read_file("a/b/c.bin"), b"\x00\xfemore")


def reading_has_a_limit(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    sandbox.write_file("ten", b"0123456789")
    expect("at the limit", sandbox.read_file("ten", 10), b"0123456789")
    expect_raises("past the limit", SandboxError, lambda: sandbox.read_file("ten", 9))


def reading_what_is_no_file_is_an_error(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    shell(sandbox, "mkdir folder; mkfifo fifo; ln -s loop loop; echo x > closed; chmod 0 closed")
    expect_raises("missing", FileNotFoundError, lambda: sandbox.read_file("missing"))
    expect_raises("below a missing folder", FileNotFoundError, lambda: sandbox.read_file("none/missing"))
    expect_raises("loop", FileNotFoundError, lambda: sandbox.read_file("loop"))
    expect_raises("folder", IsADirectoryError, lambda: sandbox.read_file("folder"))
    expect_raises("writing a folder", IsADirectoryError, lambda: sandbox.write_file("folder", b""))
    expect_raises("fifo", SandboxError, lambda: sandbox.read_file("fifo"))
    expect("the sandbox still works", shell(sandbox, "exit 4").code, 4)


def links_lead_nowhere_outside(stand: ProviderFixture) -> None:
    secret = stand.folder / "secret"
    secret.write_bytes(b"of the host")
    sandbox = stand.start()
    shell(sandbox, 'ln -s "$1" out; ln -s "$2" up', (str(secret), str(stand.folder)))
    refused = (FileNotFoundError, PermissionError)
    expect_raises("a link to a file of the host", refused, lambda: sandbox.read_file("out"))
    expect_raises("a linked folder", refused, lambda: sandbox.read_file("up/secret"))
    expect_raises("the path itself", refused, lambda: sandbox.read_file(str(secret)))
    expect_raises("dots", refused, lambda: sandbox.read_file(f"../../../../../../../..{secret}"))


def agent_files_can_be_run(stand: ProviderFixture) -> None:
    agent = stand.folder / "agent"
    agent.mkdir()
    (agent / "main.py").write_text("print('agent speaks')", encoding="utf-8")
    sandbox = stand.start(agent_files=agent)
    expect("output", sandbox.exec(["python3", f"{sandbox.places.agent}/main.py"], {}, 10).stdout, "agent speaks\n")


def agent_files_cannot_be_changed(stand: ProviderFixture) -> None:
    agent = stand.folder / "agent"
    agent.mkdir()
    (agent / "main.py").write_bytes(b"1")
    agent.chmod(0o777)
    (agent / "main.py").chmod(0o666)
    sandbox = stand.start(agent_files=agent)
    expect("status", shell(sandbox, "echo 2 > /agent/main.py").code == 0, False)
    expect("status", shell(sandbox, "echo 2 > /agent/new").code == 0, False)
    expect("files", [(p.name, p.read_bytes()) for p in agent.iterdir()], [("main.py", b"1")])


def files_of_root_stay_as_they_are(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot()
    assert snapshot.folder is not None
    files = (
        snapshot_entry(snapshot.folder, "/work/deep/er/rules", b"rules", owner="root"),
        snapshot_entry(snapshot.folder, "/work/deep/mine", b"mine"),
        SnapshotEntry(path="/work/deep", kind="directory"),
    )
    sandbox = stand.start(snapshot.model_copy(update={"files": files}))
    for script in (
        "echo x > deep/er/rules",
        "rm -f deep/er/rules",
        "mv deep/er/rules deep/er/other",
        "mv deep/er deep/was",
        "mv deep was",
        "chmod 777 deep/er/rules",
    ):
        expect(script, shell(sandbox, script).code == 0, False)
    expect("the agent's own beside it", shell(sandbox, "echo x > deep/mine && touch deep/er/new && touch top").code, 0)
    expect("content", sandbox.read_file("deep/er/rules"), b"rules")


def full_disk_is_the_programs_failure(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=Limits(disk_mb=2))
    ended = shell(sandbox, "head -c 4000000 /dev/zero > big")
    expect("status", ended.code == 0, False)
    expect_raises("writing", SandboxError, lambda: sandbox.write_file("more", b"x" * 100_000))
    expect("the sandbox still works", shell(sandbox, "rm big && echo x > small").code, 0)


def snapshot_that_does_not_fit_is_refused(stand: ProviderFixture) -> None:
    large = stand.snapshot({"/work/large": b"x" * 3_000_000})
    expect_raises("start", SandboxError, lambda: stand.start(large, limits=Limits(disk_mb=2)))


CHECKS = (
    *map(
        check,
        (
            snapshot_files_are_restored,
            large_snapshot_file_arrives_whole,
            other_writable_places_are_there,
            snapshot_outside_of_writable_places_is_refused,
            snapshot_with_a_missing_file_is_refused,
            what_is_written_can_be_read,
            reading_has_a_limit,
            reading_what_is_no_file_is_an_error,
            links_lead_nowhere_outside,
            agent_files_can_be_run,
        ),
    ),
    *map(
        isolation_check,
        (
            agent_files_cannot_be_changed,
            files_of_root_stay_as_they_are,
            full_disk_is_the_programs_failure,
            snapshot_that_does_not_fit_is_refused,
        ),
    ),
)
