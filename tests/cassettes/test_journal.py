"""Recording onto cassettes: nothing is lost, dropped or half-written."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.cassettes.cassette import cassette_path, load_cassette
from harness.cassettes.journals import TrialJournal, merge, merge_recordings, recover_journals
from harness.cassettes.redaction import Redactor
from harness.errors import CassetteError

EGG = ("look", {"q": "egg"}, b'{"found": ["egg"]}')
NO_EGG = ("look", {"q": "egg"}, b'{"found": []}')
TEA = ("look", {"q": "tea"}, b'{"found": ["tea"]}')


def journal(cassettes: Path, secrets: dict[str, str] | None = None) -> TrialJournal:
    return TrialJournal(cassettes, suite="s", case="c", redactor=Redactor(secrets or {}))


def test_a_trial_adds_what_is_new_and_leaves_no_other_file(tmp_path: Path, record) -> None:
    for trial, calls in (("t1", [EGG]), ("t2", [EGG, TEA]), ("t3", [])):
        written = journal(tmp_path)
        for recording in record(*calls):
            written.add(recording)
        done = merge(written, tmp_path, suite="s", case="c")

        assert (done.added, done.differs) == {"t1": (1, 0), "t2": (1, 0), "t3": (0, 0)}[trial]
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["c.yaml"]
    assert len(load_cassette(tmp_path / "s/c.yaml")) == 2


def test_a_cassette_that_gains_nothing_is_not_touched(tmp_path: Path, record) -> None:
    path = cassette_path(tmp_path, "s", "c")
    merge_recordings(path, record(EGG), "s", "c")
    before = path.stat()
    merge_recordings(path, record(EGG), "s", "c")

    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_answer_that_differs_is_counted_and_the_cassette_keeps_its_own_unless_it_is_refreshed(
    tmp_path: Path, record
) -> None:
    path = cassette_path(tmp_path, "s", "c")
    merge_recordings(path, record(EGG, TEA), "s", "c")

    assert merge_recordings(path, record(NO_EGG), "s", "c").differs == 1
    assert EGG[2] in [recording.body for recording in load_cassette(path).recordings]

    refreshed = merge_recordings(path, record(NO_EGG), "s", "c", refresh=True)
    assert (refreshed.added, refreshed.replaced, refreshed.differs) == (0, 1, 1)
    assert sorted(recording.body for recording in load_cassette(path).recordings) == sorted([NO_EGG[2], TEA[2]])


def test_twenty_trials_that_end_at_once_lose_nothing(tmp_path: Path, record) -> None:
    path = cassette_path(tmp_path, "s", "c")
    batches = [record(("look", {"q": f"{number}"}, b"{}"), EGG) for number in range(20)]
    threads = [threading.Thread(target=merge_recordings, args=(path, batch, "s", "c")) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(load_cassette(path)) == 21


def test_a_secret_that_redaction_cannot_take_out_is_refused_before_it_is_written(tmp_path: Path, record) -> None:
    written = journal(tmp_path, secrets={"PIN": "4815162342"})
    recording = record(("look", {"q": "egg"}, b'{"serial": 994815162342}'))[0]
    with pytest.raises(CassetteError, match=r"'look'.*'PIN'"):
        written.add(recording)
    written.close()

    assert "4815162342" not in written.path.read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.cassettes.journals import TrialJournal
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
journal = TrialJournal(Path(sys.argv[1]), suite="s", case="c", redactor=Redactor({}))
for line in sys.stdin:
    journal.add(Recording.model_validate_json(line))
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_recording(cassettes: Path, recordings) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(cassettes)],
        input="".join(f"{recording.model_dump_json()}\n" for recording in recordings).encode(),
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_recording_has_left_is_merged_by_the_next_one(tmp_path: Path, record) -> None:
    killed_recording(tmp_path, record(EGG, TEA))
    (left,) = (tmp_path / "s").iterdir()
    with left.open("a") as file:
        file.write('{"mark": {"ser')  # a line that the kill cut off

    assert recover_journals(tmp_path, "s", Redactor({})) == 1
    assert sorted(recording.body for recording in load_cassette(tmp_path / "s/c.yaml").recordings) == sorted(
        [EGG[2], TEA[2]]
    )
    assert recover_journals(tmp_path, "s", Redactor({})) == 0


def test_a_recording_that_is_going_on_is_left_alone(tmp_path: Path, record) -> None:
    written = journal(tmp_path)
    written.add(record(EGG)[0])

    assert recover_journals(tmp_path, "s", Redactor({})) == 0
    assert merge(written, tmp_path, suite="s", case="c").added == 1


def test_a_cassette_that_cannot_be_written_stays_as_it_was(tmp_path: Path, record) -> None:
    path = cassette_path(tmp_path, "s", "c")
    merge_recordings(path, record(EGG), "s", "c")
    before = path.read_bytes()
    path.write_bytes(before[: len(before) // 2])
    with pytest.raises(CassetteError):
        merge_recordings(path, record(TEA), "s", "c")

    assert path.read_bytes() == before[: len(before) // 2]
    assert [item.name for item in path.parent.iterdir()] == ["c.yaml"]


def test_a_cassette_on_which_a_secret_stands_is_not_added_to(tmp_path: Path, record) -> None:
    path = cassette_path(tmp_path, "s", "c")
    merge_recordings(path, record(("look", {"q": "x"}, b'"longsecret"')), "s", "c")
    before = path.read_bytes()
    with pytest.raises(CassetteError, match="'KEY'"):
        merge_recordings(path, record(TEA), "s", "c", redactor=Redactor({"KEY": "longsecret"}))

    assert path.read_bytes() == before


def left_behind(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / ".c.dead.journal").write_bytes(content)


def test_line_ends_of_unicode_in_an_answer_end_no_line_of_a_journal(tmp_path: Path, record) -> None:
    written = journal(tmp_path)
    recordings = record(("look", {"q": "egg\u2028\u0085 white"}, b"{}"), TEA)
    for recording in recordings:
        written.add(recording)
    written.close()

    assert 1 == recover_journals(tmp_path, "s", Redactor({}))
    assert 2 == len(load_cassette(tmp_path / "s/c.yaml"))


def test_a_journal_that_was_cut_in_the_middle_of_a_character_gives_its_whole_lines(tmp_path: Path, record) -> None:
    written = journal(tmp_path)
    for recording in record(EGG, ("look", {"q": "café"}, b"{}")):
        written.add(recording)
    written.close()
    content = written.path.read_bytes()
    written.path.write_bytes(content[: content.index("é".encode()) + 1])

    assert 1 == recover_journals(tmp_path, "s", Redactor({}))
    assert 1 == len(load_cassette(tmp_path / "s/c.yaml"))


def test_a_journal_that_is_damaged_in_the_middle_names_the_line_and_what_keeps_the_rest(tmp_path: Path, record) -> None:
    written = journal(tmp_path)
    for recording in record(EGG, TEA, ("look", {"q": "jam"}, b"{}")):
        written.add(recording)
    written.close()
    lines = written.path.read_bytes().split(b"\n")
    written.path.write_bytes(b"\n".join([*lines[:2], lines[2][:40], *lines[3:]]))
    with pytest.raises(CassetteError, match=r"\.journal:3: ") as raised:
        recover_journals(tmp_path, "s", Redactor({}))
    assert raised.value.remedy is not None
    assert "sed -i '3,$d'" in raised.value.remedy
    assert written.path.exists()

    subprocess.run(raised.value.remedy.split("`")[1], shell=True, check=True)
    assert 1 == recover_journals(tmp_path, "s", Redactor({}))
    assert [EGG[2]] == [recording.body for recording in load_cassette(tmp_path / "s/c.yaml").recordings]


@pytest.mark.parametrize(
    "heading",
    [b'{"suite": "../../s", "case": "c"}', b'{"suite": "s", "case": "../../c"}', b'{"suite": "s", "case": "\\u0000"}'],
)
def test_a_journal_that_names_another_place_writes_nothing(tmp_path: Path, record, heading: bytes) -> None:
    (recording,) = record(EGG)
    left_behind(tmp_path / "s", heading + b"\n" + recording.model_dump_json().encode() + b"\n")
    with pytest.raises(CassetteError, match=r"\.c\.dead\.journal: is "):
        recover_journals(tmp_path, "s", Redactor({}))
    assert [tmp_path / "s" / ".c.dead.journal"] == [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_journal_that_somebody_removed_is_merged_all_the_same(tmp_path: Path, record) -> None:
    written = journal(tmp_path)
    for recording in record(EGG):
        written.add(recording)
    written.path.unlink()
    assert 1 == merge(written, tmp_path, suite="s", case="c").added


def test_recordings_make_the_folders_of_their_cassette(tmp_path: Path, record) -> None:
    path = cassette_path(tmp_path / "new" / "cassettes", "s", "c")
    merge_recordings(path, record(EGG), "s", "c")
    assert 1 == len(load_cassette(path))
