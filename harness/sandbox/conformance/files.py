"""Checks of files: restored from the snapshot, read and written from outside, and their end state."""

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
from harness.sandbox.endstate import read_changed_file, read_end_state
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.suite.cases import Limits
from harness.traces.trial import EndState

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


FILE_CHECKS = (
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


def nothing_done_is_no_change(stand: ProviderFixture) -> None:
    sandbox = stand.start(_some_files(stand))
    archive = stand.archive()
    expect("end state", sandbox.end_state(archive), EndState())
    expect("archive", read_end_state(archive), EndState())


def every_change_is_reported_and_nothing_else(stand: ProviderFixture) -> None:
    sandbox = stand.start(_some_files(stand))
    script = """
set -e
touch kept/same; cp kept/rewritten x; cat x > kept/rewritten; rm x
cp kept/replaced y; mv y kept/replaced
printf B > kept/one-byte
chmod 755 kept/mode
rm kept/gone; rm -r folder
rm link; ln -s elsewhere link
rm kind; mkdir kind
mkdir -p new/er; printf fresh > new/er/file; ln -s file new/er/link; mkfifo new/er/fifo
printf t > "$TMPDIR/no-result"
"""
    expect("status", shell(sandbox, script).code, 0)
    archive = stand.archive()
    state = sandbox.end_state(archive)
    expect(
        "changes",
        [(c.path.removeprefix("/work/"), c.change, c.kind, c.mode, c.size, c.link) for c in state.changes],
        [
            ("folder", "deleted", "directory", None, None, None),
            ("folder/inner", "deleted", "file", None, None, None),
            ("kept/gone", "deleted", "file", None, None, None),
            ("kept/mode", "modified", "file", 0o755, 4, None),
            ("kept/one-byte", "modified", "file", 0o644, 1, None),
            ("kind", "modified", "directory", 0o755, None, None),
            ("link", "modified", "link", None, None, "elsewhere"),
            ("new", "added", "directory", 0o755, None, None),
            ("new/er", "added", "directory", 0o755, None, None),
            ("new/er/fifo", "added", "other", 0o644, None, None),
            ("new/er/file", "added", "file", 0o644, 5, None),
            ("new/er/link", "added", "link", None, None, "file"),
        ],
    )
    expect("complete", (state.complete, state.problem), (True, None))
    expect("read again", read_end_state(archive), state)
    paths = ("/work/new/er/file", "/work/kept/one-byte", "/work/kept/mode", "/work/kept/same", "/work/new")
    expect("contents", [read_changed_file(archive, path) for path in paths], [b"fresh", b"B", b"mode", None, None])


def moved_folders_are_reported_with_all_in_them(stand: ProviderFixture) -> None:
    files = {"one/f": b"1", "one/in/g": b"g", "two/f": b"2", "three/f": b"3", "three/deep/h": b"h", "untouched/u": b"u"}
    sandbox = stand.start(stand.snapshot({f"/work/{path}": content for path, content in files.items()}))
    code = """
import os, shutil
os.rename("one", "away"); os.rename("two", "one"); os.rename("away", "two")
os.rename("two/in", "three/in")
shutil.rmtree("three/deep"); os.mkdir("three/deep")
os.link("untouched/u", "linked")
"""
    expect("status", python(sandbox, code).code, 0)
    archive = stand.archive()
    state = sandbox.end_state(archive)
    expect(
        "changes",
        [(c.path.removeprefix("/work/"), c.change, c.kind) for c in state.changes],
        [
            ("linked", "added", "file"),
            ("one/f", "modified", "file"),
            ("one/in", "deleted", "directory"),
            ("one/in/g", "deleted", "file"),
            ("three/deep/h", "deleted", "file"),
            ("three/in", "added", "directory"),
            ("three/in/g", "added", "file"),
            ("two/f", "modified", "file"),
        ],
    )
    paths = ("/work/one/f", "/work/two/f", "/work/three/in/g", "/work/linked")
    expect("contents", [read_changed_file(archive, path) for path in paths], [b"2", b"1", b"g", b"u"])


def change_right_after_the_start_is_seen(stand: ProviderFixture) -> None:
    """A clock's tick is longer than writing a byte takes: size and time alone would not show the change."""
    for _ in range(3):
        sandbox = stand.start(stand.snapshot({"/work/one": b"A"}))
        sandbox.write_file("one", b"B")
        expect("changes", [c.path for c in sandbox.end_state(stand.archive()).changes], ["/work/one"])


def odd_names_survive(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    code = r"""
import os
for name in (b"new\nline", b"\xff\xfe", b" ", "caf\u00e9".encode(), b"x" * 255, b"-rf", b"a\\b"):
    with open(name, "wb") as stream:
        stream.write(name)
"""
    expect("status", python(sandbox, code).code, 0)
    archive = stand.archive()
    state = sandbox.end_state(archive)
    names = sorted(["new\nline", "\udcff\udcfe", " ", "caf\u00e9", "x" * 255, "-rf", "a\\b"])
    expect("names", [c.path for c in state.changes], [f"/work/{name}" for name in names])
    expect("read again", read_end_state(archive), state)
    contents = [read_changed_file(archive, f"/work/{name}") for name in names]
    expect("contents", contents, [name.encode("utf-8", "surrogateescape") for name in names])


def closed_folders_are_read_too(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    shell(sandbox, "mkdir shut; echo x > shut/file; chmod 0 shut/file shut")
    archive = stand.archive()
    paths = [c.path for c in sandbox.end_state(archive).changes]
    expect("changes", paths, ["/work/shut", "/work/shut/file"])
    expect("content", read_changed_file(archive, "/work/shut/file"), b"x\n")


def too_many_changes_are_said_to_be_incomplete(stand: ProviderFixture) -> None:
    code = "import os\nfor d in range(3):\n os.mkdir(f'd{d}')\n for n in range(7000): os.mknod(f'd{d}/{n}')"
    sandbox = stand.start(stand.snapshot({"/work/zz": b"unchanged"}), limits=Limits(disk_mb=256))
    expect("status", python(sandbox, code).code, 0)
    state = sandbox.end_state(stand.archive())
    expect("complete", (state.complete, state.problem is None), (False, False))
    expect("deleted", [c.path for c in state.changes if c.change == "deleted"], [])


def too_large_changes_are_said_to_be_incomplete(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=Limits(disk_mb=128))
    expect("status", shell(sandbox, "truncate -s 100M large; echo small > small").code, 0)
    archive = stand.archive()
    state = sandbox.end_state(archive)
    expect("complete", (state.complete, state.problem is None), (False, False))
    expect("changes", [(c.path, c.size) for c in state.changes], [("/work/large", 104_857_600), ("/work/small", 6)])
    contents = [read_changed_file(archive, path) for path in ("/work/large", "/work/small")]
    expect("contents", contents, [None, b"small\n"])


def same_end_state_is_the_same_bytes(stand: ProviderFixture) -> None:
    archives = []
    for order in ("a b c", "c b a"):
        sandbox = stand.start(_some_files(stand))
        shell(sandbox, f"for n in {order}; do echo $n > $n; done; rm kept/gone")
        archives.append(stand.archive())
        sandbox.end_state(archives[-1])
    expect("archives are equal", archives[0].read_bytes() == archives[1].read_bytes(), True)


def end_state_can_be_laid_again(stand: ProviderFixture) -> None:
    snapshot = _some_files(stand)
    first = stand.start(snapshot)
    shell(
        first, "printf N > new; mkdir -p d/e; rm kept/gone link; rm -r folder; printf B > kept/one-byte; chmod 700 new"
    )
    archive = stand.archive()
    left = first.end_state(archive)
    first.close()
    again = stand.start(snapshot, end_state_from=archive)
    script = "cat new kept/one-byte kept/same; test -d d/e && test -x new && test ! -e kept/gone && test ! -e folder"
    ended = shell(again, script)
    expect("files", (ended.code, ended.stdout), (0, "NBsame"))
    expect("its own end state", again.end_state(stand.archive()), left)


def _some_files(stand: ProviderFixture) -> Snapshot:
    kept = ("same", "rewritten", "replaced", "mode", "gone")
    files = {f"/work/kept/{name}": name.encode() for name in kept}
    snapshot = stand.snapshot({**files, "/work/kept/one-byte": b"A", "/work/folder/inner": b"1"})
    assert snapshot.folder is not None
    more = (
        SnapshotEntry(path="/work/folder", kind="directory", mode=0o755),
        SnapshotEntry(path="/work/link", kind="link", link="kept/same"),
        snapshot_entry(snapshot.folder, "/work/kind", b"file"),
    )
    return snapshot.model_copy(update={"files": (*snapshot.files, *more)})


END_STATE_CHECKS = tuple(
    check(run)
    for run in (
        nothing_done_is_no_change,
        every_change_is_reported_and_nothing_else,
        moved_folders_are_reported_with_all_in_them,
        change_right_after_the_start_is_seen,
        odd_names_survive,
        closed_folders_are_read_too,
        too_many_changes_are_said_to_be_incomplete,
        too_large_changes_are_said_to_be_incomplete,
        same_end_state_is_the_same_bytes,
        end_state_can_be_laid_again,
    )
)
