"""A snapshot without a part of its files and of its services' rows is a snapshot like any other."""

import json
import shutil
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.sandbox import OmittedParts, SnapshotStore, files_of, reduced_snapshot, rows_of

ENVIRONMENTS = ("drive_thru", "library_desk", "web_shop")


@pytest.fixture
def store(tmp_path: Path, project: Path) -> SnapshotStore:
    for name in ENVIRONMENTS:
        shutil.copytree(project / "snapshots" / name, tmp_path / "snapshots" / name)
    return SnapshotStore(tmp_path)


def dump_of(store: SnapshotStore, tmp_path: Path, which: tuple[str, str], service: str, gone: set[int]) -> str:
    left_out = OmittedParts(rows={service: gone})
    found = reduced_snapshot(store.verify(*which), left_out, "less", tmp_path / "made")
    kept = store.keep(found)
    again = store.verify(which[0], "less")
    assert (kept.digest, again.parent) == (again.digest, store.verify(*which).digest)
    assert again.folder is not None
    return (again.folder / "dumps" / again.dumps[0].file).read_text()


def test_a_row_of_a_copy_block_is_left_out_and_its_end_stays(store: SnapshotStore, tmp_path: Path) -> None:
    assert {"database": 13} == rows_of(store.verify("library_desk", "monday"))
    text = dump_of(store, tmp_path, ("library_desk", "monday"), "database", {0, 12})
    assert "The Left Hand of Darkness" not in text
    assert "FROM stdin;\n2\tThe Dispossessed" in text
    assert "COPY public.today (day) FROM stdin;\n\\.\n" in text


def test_an_insert_is_left_out_whole(store: SnapshotStore, tmp_path: Path) -> None:
    whole = store.verify("drive_thru", "breakfast")
    count = rows_of(whole)["menu"]
    text = dump_of(store, tmp_path, ("drive_thru", "breakfast"), "menu", set(range(1, count)))
    assert ("CREATE TABLE items" in text, 1) == (True, text.count("INSERT INTO"))


def test_an_element_of_a_json_dump_is_left_out(store: SnapshotStore, tmp_path: Path) -> None:
    text = dump_of(store, tmp_path, ("web_shop", "morning"), "shop", {0, 2})
    found = json.loads(text)
    assert ["Green lamp", "Oak bread board", "Set of 6 glasses"] == [one["name"] for one in found["products"]]
    assert {"c1": {"kettle-2l": 1}} == found["carts"]


def test_files_are_left_out_by_path_and_folders_stay(store: SnapshotStore, tmp_path: Path) -> None:
    whole = store.verify("drive_thru", "breakfast")
    gone = files_of(whole)
    found = store.keep(reduced_snapshot(whole, OmittedParts(files=gone), "bare", tmp_path / "made"))
    assert gone
    assert () == files_of(store.verify("drive_thru", "bare"))
    assert {one.path for one in found.files} == {one.path for one in whole.files} - set(gone)


def test_a_snapshot_is_never_overwritten(store: SnapshotStore, tmp_path: Path) -> None:
    found = reduced_snapshot(store.verify("web_shop", "morning"), OmittedParts(), "morning", tmp_path / "made")
    with pytest.raises(UsageError, match="snapshot web_shop/morning"):
        store.keep(found)
