"""The end state: exactly what differs from the snapshot."""

from harness.case import Limits
from harness.sandbox.conformance.provider_fixture import ProviderFixture, check, expect, python, shell, snapshot_entry
from harness.sandbox.state.endstate import read_changed_file, read_end_state
from harness.sandbox.state.snapshot import Snapshot, SnapshotEntry
from harness.trace import EndState


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


CHECKS = tuple(
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
