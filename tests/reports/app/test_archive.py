"""Runs out of an archive: shown as those of a project, and nothing in it believed."""

import stat
import struct
import zipfile
from pathlib import Path

import pytest

from harness.cli.view import app_pages
from harness.errors import ResultsError
from harness.reports.pages.server import ViewServer
from harness.runs.store.archive import unpack_runs
from tests.reports.app.client import entered
from tests.reports.html.runs import store


def _zipped(path: Path, folder: Path, below: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for one in sorted(folder.rglob("*")):
            archive.write(one, f"{below}{one.relative_to(folder)}")
        archive.writestr("site/index.html", "<p>")
    return path


@pytest.mark.parametrize("below", ["", "night/", "a/runs/night/"])
def test_a_downloaded_run_is_shown(tmp_path: Path, below: str) -> None:
    run = store(tmp_path / "made", "night", trials=2).path
    archive = _zipped(tmp_path / "x.zip", run, below)
    assert ("night",) == unpack_runs(archive, tmp_path / "project" / "runs")
    assert ["night"] == [one.name for one in (tmp_path / "project" / "runs").iterdir()]
    with ViewServer(tmp_path / "project", app_pages()) as server, entered(server) as client:
        assert 200 == client.get("/runs/night/trials/case-0001/1").status_code


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("night/../../evil", stat.S_IFREG),
        ("/evil", stat.S_IFREG),
        ("night\\..\\evil", stat.S_IFREG),
        ("night/trials//evil", stat.S_IFREG),
        ("night/manifest.json", stat.S_IFREG),
        ("night/manifest.json/evil", stat.S_IFREG),
        ("night/trials/link", stat.S_IFLNK),
        ("night/trials/pipe", stat.S_IFIFO),
        ("night/" + "x/" * 20 + "deep", stat.S_IFREG),
        ("night/" + "x" * 300, stat.S_IFREG),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_leaves_the_archive_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    archive = _zipped(tmp_path / "x.zip", store(tmp_path / "made", "night", trials=1).path, "night/")
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (mode | 0o644) << 16
    assert ("night",) == unpack_runs(archive, tmp_path / "before")
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(entry, "/etc/passwd")
    with pytest.raises(ResultsError, match=r"x\.zip"):
        unpack_runs(archive, tmp_path / "project" / "runs")
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_archive_is_no_crash_and_a_list_of_files_is_bounded(tmp_path: Path) -> None:
    archive = _zipped(tmp_path / "x.zip", store(tmp_path / "made", "night", trials=1).path, "")
    whole = archive.read_bytes()
    broken = [b"", b"PK", whole[: len(whole) // 2], whole[:200] + b"\xff" * 60 + whole[260:]]
    end = whole.rindex(b"PK\x05\x06")
    broken.append(whole[: end + 12] + struct.pack("<I", 0xFFFFFFF0) + whole[end + 16 :])
    for place, content in enumerate(broken):
        archive.write_bytes(content)
        with pytest.raises(ResultsError, match=r"x\.zip"):
            unpack_runs(archive, tmp_path / str(place))
