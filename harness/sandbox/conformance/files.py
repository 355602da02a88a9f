"""Checks of files: restored from the snapshot, read and written from outside, and their end state."""

from harness.errors import SandboxError, SnapshotError
from harness.sandbox.conformance.provider_fixture import (
    Files,
    ProviderFixture,
    answer_of,
    expect,
    expect_raises,
    python,
    shell,
)
from harness.sandbox.endstate import read_changed_file, read_end_state
from harness.sandbox.snapshot import Snapshot
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
    files: Files = {
        "/work/plain.txt": b"plain",
        "/work/deep/er/tool.sh": {"content": b"#!/bin/sh\nexit 6\n", "mode": 0o755},
        "/work/read-only/note": {"content": b"note", "mode": 0o444},
        "/work/read-only": {"kind": "directory", "mode": 0o555},
        "/work/empty": {"kind": "directory", "mode": 0o700},
        "/work/link": {"kind": "link", "link": "deep/er/tool.sh"},
        "/work/dangling": {"kind": "link", "link": "/no/where"},
    }
    sandbox = stand.start(stand.snapshot(files))
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


def nothing_done_is_no_change(stand: ProviderFixture) -> None:
    sandbox = stand.start(_some_files(stand))
    state, archive = stand.end_state(sandbox)
    expect("end state, as told and as stored", (state, read_end_state(archive)), (EndState(), EndState()))


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
    state, archive = stand.end_state(sandbox)
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


def change_right_after_the_start_is_seen(stand: ProviderFixture) -> None:
    """A clock's tick is longer than writing a byte takes: size and time alone would not show the change."""
    for _ in range(3):
        sandbox = stand.start(stand.snapshot({"/work/one": b"A"}))
        sandbox.write_file("one", b"B")
        expect("changes", stand.changed(sandbox), ["/work/one"])


def odd_names_survive(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    code = r"""
import os
for name in (b"new\nline", b"\xff\xfe", b" ", "caf\u00e9".encode(), b"x" * 255, b"-rf", b"a\\b"):
    with open(name, "wb") as stream:
        stream.write(name)
"""
    expect("status", python(sandbox, code).code, 0)
    state, archive = stand.end_state(sandbox)
    names = sorted(["new\nline", "\udcff\udcfe", " ", "caf\u00e9", "x" * 255, "-rf", "a\\b"])
    expect("names", [c.path for c in state.changes], [f"/work/{name}" for name in names])
    expect("read again", read_end_state(archive), state)
    contents = [read_changed_file(archive, f"/work/{name}") for name in names]
    expect("contents", contents, [name.encode("utf-8", "surrogateescape") for name in names])


def closed_folders_are_read_too(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    shell(sandbox, "mkdir shut; echo x > shut/file; chmod 0 shut/file shut")
    state, archive = stand.end_state(sandbox)
    expect("changes", [c.path for c in state.changes], ["/work/shut", "/work/shut/file"])
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
    state, archive = stand.end_state(sandbox)
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
    left, archive = stand.end_state(first)
    first.close()
    again = stand.start(snapshot, end_state_from=archive)
    script = "cat new kept/one-byte kept/same; test -d d/e && test -x new && test ! -e kept/gone && test ! -e folder"
    ended = shell(again, script)
    expect("files", (ended.code, ended.stdout), (0, "NBsame"))
    expect("its own end state", again.end_state(stand.archive()), left)


def _some_files(stand: ProviderFixture) -> Snapshot:
    kept = ("same", "rewritten", "replaced", "mode", "gone")
    files = {f"/work/kept/{name}": name.encode() for name in kept}
    more = {"/work/kept/one-byte": b"A", "/work/folder/inner": b"1", "/work/kind": b"file"}
    entries: Files = {
        "/work/folder": {"kind": "directory", "mode": 0o755},
        "/work/link": {"kind": "link", "link": "kept/same"},
    }
    return stand.snapshot({**files, **more, **entries})


def next_sandbox_starts_from_the_snapshot(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot({"/work/start": b"start"})
    first = stand.start(snapshot)
    places = ". $TMPDIR" + (" /dev/shm" if stand.provider.isolates else "")
    spoil = f"for place in {places}; do echo x > $place/new; done; echo x > start; echo export SPOILED=1 > ~/.profile"
    expect("spoiling", shell(first, spoil).code, 0)
    first.close()
    second = stand.start(snapshot)
    ended = shell(second, f"ls -A {places} | grep 'new\\|profile'; env | grep SPOILED; cat start")
    expect("files", ended.stdout, "start")
    expect("end state", stand.changed(second), [])


def sandboxes_at_the_same_time_do_not_meet(stand: ProviderFixture) -> None:
    boxes = [stand.start(stand.snapshot({"/work/name": str(n).encode()})) for n in range(3)]
    for box in boxes:
        shell(box, "printf %s $(cat name) >> name")
    expect("files", [box.read_file("name") for box in boxes], [b"00", b"11", b"22"])


# Programs that try to hide what they did, or to make the host appear to have failed.

_THROUGH_A_MAPPING = """
import mmap, os
mapped = mmap.mmap(os.open("list", os.O_RDWR), 0)
mapped[0]  # read first: what is written then reaches the kernel by no call and no fault
mapped[0:1] = b"B"
"""


_TOO_DEEP = """
import os
for _ in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("end", "w").close()
"""


def what_is_written_through_a_mapping_is_reported(stand: ProviderFixture) -> None:
    sandbox = stand.start(stand.snapshot({"/work/list": b"A, C", "/work/other": b"1"}))
    expect("status", python(sandbox, _THROUGH_A_MAPPING).code, 0)
    state, archive = stand.end_state(sandbox)
    expect("changes", [(c.path, c.change) for c in state.changes], [("/work/list", "modified")])
    expect("content", read_changed_file(archive, "/work/list"), b"B, C")


def links_and_holes_that_are_more_than_the_disk_are_laid_again(stand: ProviderFixture) -> None:
    limits = Limits(disk_mb=8)
    sandbox = stand.start(limits=limits)
    script = "head -c 4194304 /dev/zero > a; ln a b; ln a c; truncate -s 20M hole; echo end >> hole"
    expect("status", shell(sandbox, script).code, 0)
    left, archive = stand.end_state(sandbox)
    sandbox.close()
    again = stand.start(limits=limits, end_state_from=archive)
    expect("the end of a hole", shell(again, "tail -c 4 hole; echo more > more").stdout, "end\n")
    expect("paths", [change.path for change in left.changes], [f"/work/{name}" for name in ("a", "b", "c", "hole")])


def paths_that_no_program_can_name_are_said_to_be_left_out(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    expect("status", python(sandbox, _TOO_DEEP).code, 0)
    left, archive = stand.end_state(sandbox)
    expect("complete", (left.complete, left.problem is None), (False, False))
    sandbox.close()
    expect("restored again", shell(stand.start(end_state_from=archive), "true").code, 0)
