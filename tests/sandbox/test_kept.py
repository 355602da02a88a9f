"""What a warm container keeps for its trials: created once, the same for each, and compared with what they change."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.conformance.provider_fixture import answer_of, python, shell, snapshot_entry
from harness.sandbox.containers.warm import WarmDockerSandboxProvider
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.providers import open_provider
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.suite.cases import Limits
from harness.traces.trial import EndState

pytestmark = pytest.mark.docker

_SPEC = SandboxSpec(trial_id="kept", limits=Limits())
_DO_AND_SHOW = """
import hashlib, json, os, random, shutil, stat, sys
chance = random.Random(int(sys.argv[1]))

def entries():
    return sorted(os.path.join(at, name) for at, folders, names in os.walk(".") for name in (*folders, *names))

def some(test=os.path.lexists):
    found = [path for path in entries() if test(path)]
    return chance.choice(found) if found else None

def is_folder(path):
    return os.path.isdir(path) and not os.path.islink(path)

def is_file(path):
    return os.path.isfile(path) and not os.path.islink(path)

def place():
    return os.path.join(some(is_folder) or ".", chance.choice("abcdefg"))

def write():
    path = place() if chance.random() < 0.5 else some(is_file) or place()
    if not is_folder(path) and not os.path.islink(path):
        with open(path, chance.choice(["w", "r+", "a"]) if os.path.exists(path) else "w") as stream:
            stream.write(chance.choice(["", "same", "other"]))

def remove():
    path = some()
    if path is not None:
        shutil.rmtree(path) if is_folder(path) else os.unlink(path)

def move():
    path, target = some(), chance.choice([place, lambda: some() or place()])()
    if path is not None and not (target + "/").startswith(path + "/"):
        os.rename(path, target)

def link():
    path, target = some(is_file), place()
    if path is not None and not os.path.lexists(target):
        os.link(path, target) if chance.random() < 0.5 else os.symlink(path, target)

def mode():
    path = some(lambda path: not os.path.islink(path))
    if path is not None:
        os.chmod(path, chance.choice([0o700, 0o755, 0o644] if is_folder(path) else [0o600, 0o644]) | 0o500)

def folder():
    path = place()
    if not os.path.lexists(path):
        os.mkdir(path)

for _ in range(chance.randrange(1, 25)):
    try:
        chance.choice([write, write, remove, move, move, link, mode, folder])()
    except OSError as error:
        if error.errno not in (1, 13, 17, 20, 21, 39, 40):
            raise

def shown(path):
    state = os.lstat(path)
    if stat.S_ISLNK(state.st_mode):
        return ["link", os.readlink(path)]
    if stat.S_ISDIR(state.st_mode):
        return ["directory", stat.S_IMODE(state.st_mode)]
    return ["file", stat.S_IMODE(state.st_mode), hashlib.sha256(open(path, "rb").read()).hexdigest()]

print(json.dumps({"/work" + path[1:]: shown(path) for path in entries()}))
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmDockerSandboxProvider]:
    provider = WarmDockerSandboxProvider(run="kept-tests")
    yield provider
    provider.close()


@pytest.fixture(scope="module", params=["docker-warm", "local"])
def provider(request: pytest.FixtureRequest, warm: WarmDockerSandboxProvider) -> Iterator[SandboxProvider]:
    if request.param == "docker-warm":
        yield warm
        return
    local = open_provider("local", run="kept-tests")
    yield local
    local.close()


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, base_image: str) -> Snapshot:
    """Folders in folders, files with the same names and contents in several, one of root's, a link."""
    folder = tmp_path_factory.mktemp("sealed")
    contents = {f"/work/{at}/{name}": name.encode() for at in ("a", "a/b", "a/b/c", "d", "d/b") for name in "efg"}
    files = [snapshot_entry(folder, path, content) for path, content in contents.items()]
    files += [
        snapshot_entry(folder, "/work/r/roots", b"stays", owner="root"),
        SnapshotEntry(path="/work/l", kind="link", link="a/e"),
    ]
    ordered = tuple(sorted(files, key=lambda file: file.path))
    return Snapshot(name="tree", environment="base", image=base_image, folder=folder, files=ordered)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_whatever_a_trial_does_the_difference_to_the_seal_is_told(
    provider: SandboxProvider, sealed: Snapshot, tmp_path: Path, seed: int
) -> None:
    with closing(provider.start(_SPEC, sealed)) as sandbox:
        before = _shown(sandbox)
        after = answer_of("tree", python(sandbox, _DO_AND_SHOW, str(seed)))
        state = sandbox.end_state(tmp_path / "end_state.tar")

    assert _difference(before, after) == _told(state)


def test_every_trial_in_a_warm_container_sees_what_was_laid_once(
    warm: WarmDockerSandboxProvider, sealed: Snapshot
) -> None:
    with closing(warm.start(_SPEC, sealed)) as first:
        before = _shown(first)
        shell(first, "rm -r a d; echo changed > l2; mv r s")
    with closing(warm.start(_SPEC, sealed)) as second:
        mounted = shell(second, "grep ' /work ' /proc/self/mountinfo").stdout
        seen = _shown(second)

    assert " - overlay " in mounted
    assert before == seen


@pytest.mark.slow
def test_what_thousands_of_sealed_files_cost_is_paid_once(
    warm: WarmDockerSandboxProvider, tmp_path: Path, base_image: str
) -> None:
    files = tuple(snapshot_entry(tmp_path, f"/work/{number:04}/file", b"x" * 100) for number in range(3000))
    snapshot = Snapshot(name="many", environment="base", image=base_image, folder=tmp_path, files=files)
    spent = []
    for _ in range(4):
        began = time.monotonic()
        with closing(warm.start(_SPEC, snapshot)) as sandbox:
            shell(sandbox, "echo changed > 0007/file")
            changes = sandbox.end_state(tmp_path / "end_state.tar").changes
        spent.append(time.monotonic() - began)
        assert ["/work/0007/file"] == [change.path for change in changes]
    assert min(spent[1:]) < spent[0] / 4


def _shown(sandbox: Sandbox) -> dict[str, Any]:
    return answer_of("tree", python(sandbox, _DO_AND_SHOW.replace("chance.randrange(1, 25)", "0"), "0"))


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    changed = {path: ("modified" if path in before else "added", shown) for path, shown in after.items()
               if before.get(path) != shown}  # fmt: skip
    return changed | {path: ("deleted", [before[path][0]]) for path in before if path not in after}


def _told(state: EndState) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for change in state.changes:
        parts = [change.kind, change.link if change.kind == "link" else change.mode, change.sha256]
        found[change.path] = (change.change, [part for part in parts if part is not None])
    return found
