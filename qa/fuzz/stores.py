"""Readers of what the harness itself has written: cassettes, snapshots, run folders, baselines, end states, issues."""

import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.cassettes.cassette import load_cassette, save_cassette
from harness.cassettes.check import check_cassette, show_cassette
from harness.cassettes.journals import TrialJournal, recover_journals
from harness.cassettes.profiles import profile_path, read_profile, write_profile
from harness.cassettes.redaction import Redactor
from harness.drift.filing import ReportOutbox
from harness.drift.issue import TrackerOptions
from harness.drift.trackers import FolderTracker
from harness.runs.store.baseline import read_baseline, write_baseline
from harness.runs.store.drift_report import read_drift, write_drift
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from harness.sandbox.endstate import RestoredFiles, open_end_state, write_end_state
from harness.sandbox.snapshots import SnapshotStore
from qa.fuzz.projects import ROOT, files, write
from qa.fuzz.reader import Reader, Syntax
from qa.fuzz.stored_run import TRIAL, stored_run

_CASE = "order-correctness-003"


def readers() -> list[Reader]:
    return [
        Reader(name="cassettes, YAML", syntax="yaml", seeds=_cassettes, read=partial(_cassette, "case.yaml"), cost=10),
        Reader(
            name="cassettes, JSON", syntax="json", seeds=_json_cassettes, read=partial(_cassette, "case.json"), cost=4
        ),
        Reader(name="journals of recordings", syntax="lines", seeds=_journals, read=_recovered, cost=4),
        Reader(name="learned profiles", syntax="json", seeds=lambda: [_PROFILE], read=_profile, cost=2),
        Reader(
            name="seals of snapshots", syntax="json", seeds=files("snapshots/drive_thru/*/snapshot.json"), read=_seal
        ),
        Reader(name="end states, tar", syntax="bytes", seeds=_end_states, read=_end_state, cost=2),
        Reader(name="end states, head", syntax="json", seeds=_heads, read=_end_state_head, cost=2),
        *(_of_run(name, "lines" if name == "spans.jsonl" else "json") for name in TRIAL),
        _of_run("manifest.json", "json"),
        Reader(name="baselines", syntax="json", seeds=files("baselines/drive_thru.json"), read=_baseline, cost=20),
        Reader(name="drift.json", syntax="json", seeds=lambda: [_DRIFT], read=_drift, cost=2),
        Reader(name="judgements", syntax="lines", seeds=lambda: [_JUDGEMENT * 2], read=_judgements),
        Reader(name="issues in a folder", syntax="text", seeds=lambda: [_ISSUE], read=_issue),
        Reader(name="heads of issues", syntax="yaml", seeds=lambda: [_ISSUE_HEAD], read=_issue_head),
        Reader(name="outbox of issues", syntax="json", seeds=lambda: [_DRIFT], read=_outbox, cost=2),
    ]


def _cassettes() -> list[bytes]:
    return [
        (ROOT / path).read_bytes()
        for path in (f"cassettes/drive_thru/{_CASE}.yaml", "cassettes/web_shop/sold-out-board.yaml")
    ]


def _json_cassettes() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.json"
        save_cassette(path, load_cassette(ROOT / f"cassettes/drive_thru/{_CASE}.yaml"), suite="s", case="case")
        return [path.read_bytes()]


def _journals() -> list[bytes]:
    with TemporaryDirectory() as folder:
        journal = TrialJournal(Path(folder), suite="s", case="c", redactor=Redactor({}))
        for recording in load_cassette(ROOT / f"cassettes/drive_thru/{_CASE}.yaml").recordings[:3]:
            journal.add(recording)
        journal.close()
        return [journal.path.read_bytes()]


def _cassette(name: str, content: bytes, folder: Path) -> None:
    path = write(folder / "cassettes" / "s" / name, content)
    cassette = load_cassette(path)
    save_cassette(folder / name, cassette, suite="s", case="case")
    assert cassette.recordings == load_cassette(folder / name).recordings
    check_cassette(path, {})
    show_cassette(path)


def _recovered(content: bytes, folder: Path) -> None:
    shutil.rmtree(folder / "s", ignore_errors=True)
    write(folder / "s" / ".c.x.journal", content)
    recover_journals(folder, "s", Redactor({}))
    for path in (folder / "s").iterdir():
        load_cassette(path)


def _profile(content: bytes, folder: Path) -> None:
    write(profile_path(folder, "s", "look"), content)
    profile = read_profile(folder, "s", "look")
    renamed = profile.model_copy(update={"tool": "again"})
    write_profile(folder, "s", renamed)
    assert renamed == read_profile(folder, "s", "again")


def _seal(content: bytes, folder: Path) -> None:
    place = folder / "snapshots" / "drive_thru" / "breakfast"
    if not place.is_dir():
        shutil.copytree(ROOT / "snapshots" / "drive_thru" / "breakfast", place)
    write(place / "snapshot.json", content)
    store = SnapshotStore(folder)
    store.verify("drive_thru", "breakfast")
    store.list()


def _end_states() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "end.tar"
        frames = [
            ({"path": b"/work/a", "kind": b"file", "mode": 0o644, "size": 5, "content": 1}, b"12345"),
            ({"path": b"/work/l\xff", "kind": b"link", "mode": 0o777, "link": b"/etc/passwd"}, b""),
            ({"path": b"/work/" + b"d" * 200, "kind": b"directory", "mode": 0o755}, b""),
            ({"end": 1, "gone": []}, b""),
        ]
        write_end_state(path, RestoredFiles(files={}), frames)
        return [path.read_bytes()]


def _heads() -> list[bytes]:
    change = {"path": "/work/a", "change": "added", "kind": "file", "mode": 420, "size": 5, "sha256": "0" * 64}
    return [json.dumps({"changes": [change], "complete": True, "problem": None}).encode()]


def _end_state(content: bytes, folder: Path) -> None:
    with open_end_state(write(folder / "end.tar", content)) as opened:
        for change in opened.state.changes:
            opened.content(change.path)


def _end_state_head(content: bytes, folder: Path) -> None:
    write(folder / "head", content)
    with tarfile.open(folder / "end.tar", "w") as tar:
        tar.add(folder / "head", "end_state.json")
    _end_state((folder / "end.tar").read_bytes(), folder)


def _of_run(name: str, syntax: Syntax) -> Reader:
    return Reader(
        name=f"run folders: {name}", syntax=syntax, seeds=lambda: [stored_run()[name]], read=_in_run(name), cost=2
    )


def _in_run(name: str) -> Callable[[bytes, Path], None]:
    """The file in a run that is whole but for it; its checksums are made anew, so that none of them refuses it."""

    def read(content: bytes, folder: Path) -> None:
        found = stored_run() | {name: content}
        if name in ("trial.json", "spans.jsonl", "scorecard.json"):
            sealed = {one: hashlib.sha256(found[one]).hexdigest() for one in TRIAL[:3]}
            found = found | {"seal.json": json.dumps(sealed).encode()}
        for one, text in found.items():
            planned = json.loads(stored_run()["manifest.json"])["planned"][0]
            place = folder / "trials" / planned["case_id"] / str(planned["attempt"])
            write((place if one in TRIAL else folder) / one, text)
        opened = RunFolder.open(folder)
        for stored in opened.trials():
            assert stored.trial.case_id
            assert stored.spans is not None
        opened.scorecards()
        opened.finished()
        opened.verify()

    return read


def _baseline(content: bytes, folder: Path) -> None:
    write(folder / "baselines" / "drive_thru.json", content)
    baseline = read_baseline(folder, "drive_thru")
    again = baseline.model_copy(update={"manifest": baseline.manifest.model_copy(update={"suite": "again"})})
    write_baseline(folder, again)
    assert again == read_baseline(folder, "again")


def _drift(content: bytes, folder: Path) -> None:
    report = read_drift(write(folder / "one" / "drift.json", content))
    (folder / "two").mkdir(exist_ok=True)
    written = read_drift(write_drift(folder / "two", report))
    assert repr(written.model_dump(mode="json")) == repr(report.model_dump(mode="json"))


def _judgements(content: bytes, folder: Path) -> None:
    write(folder / "judgements" / "r.jsonl", content)
    assert all(one.answer for one in read_judgements(folder, "r"))


def _issue(content: bytes, folder: Path) -> None:
    write(folder / "issues" / "0001-drift.md", content)
    for issue in FolderTracker(TrackerOptions(project=folder)).find():
        assert issue.number is not None


def _issue_head(content: bytes, folder: Path) -> None:
    _issue(b"---\n" + content + b"\n---\n\n" + _ISSUE_BODY, folder)


def _outbox(content: bytes, folder: Path) -> None:
    write(folder / "outbox" / "folder" / "20260101T000000-run" / "drift.json", content)
    for report in ReportOutbox(folder, "folder").waiting():
        assert report.suite is not None


_PROFILE = (
    b'{"tool": "look", "operations": {"look": {"samples": 9, "days": ["2026-01-01"], "paths": '
    b'{"items[].price": {"kinds": {"number": 9}, "present": 9, "holders": 9, "words": ["a"]}}, '
    b'"differing": {"c": {"p": "0"}}}}}'
)

_DRIFT = (
    b'{"suite": "s", "run": "r", "seen": "2026-01-01T00:00:00Z", "command": "harness drift probe s", "findings": '
    b'[{"tool": "look", "operation": "look", "change": "schema.removed", "severity": "breaking", "path": "a.b[]", '
    b'"old_kind": "integer", "new_kind": "absent", "before": {"a": 1}, "after": null, "cases": ["c"], "flips": [], '
    b'"samples": 2, "fingerprint": "0123456789ab"}], "exercised": {"look": ["look a.b"]}, "divergences": ["x"]}'
)

_JUDGEMENT = (
    b'{"event_name":"gen_ai.evaluation.result","trace_id":"t","span_id":"s","attributes":{"a":1},"judgement":{"run":"r",'
    b'"case_id":"c","attempt":1,"trajectory":"0","rubric":"r","rubric_version":"1","rubric_digest":"0","criterion":"a",'
    b'"criterion_version":"1","eligible":true,"passed":true,"rationale":"x","spans":["s"],"judge":{"model":"m"},'
    b'"votes":{"passed":1}}}\n'
)

_ISSUE_HEAD = (
    b"number: 1\ntitle: look answers differently\nstate: open\nlabels: [drift, 'drift:breaking']\n"
    b"created: '2026-01-01T00:00:00Z'\nupdated: '2026-01-01T00:00:00Z'\nclosed: null\n"
)
_ISSUE_BODY = (
    b"### What changed\n\n#### `0123456789ab` look\n\nIt was there before: #1.\n\n"
    b'<!-- harness-drift:v1 key=0123456789ab {"suite":"s","tool":"look","about":"breaking","first_seen":"2026-01-01",'
    b'"last_seen":"2026-01-02","looked":"2026-01-02T00:00:00Z"} -->\n\n---\n\nA comment.\n'
)
_ISSUE = b"---\n" + _ISSUE_HEAD + b"---\n\n" + _ISSUE_BODY
