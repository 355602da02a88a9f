"""Pages that checks have looked at, in the stored run and in its HTML report."""

import base64
from pathlib import Path

import pytest

from harness.reports.pages.files import html_report
from harness.runs.store.folder import RunFolder
from harness.traces.trial import PageSeen
from tests.reports.html.runs import HOSTILE, card, manifest, trial

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


def stored(root: Path, **seen: object) -> RunFolder:
    picture = root / "page-1-end.png"
    picture.write_bytes(PICTURE)
    page = PageSeen.model_validate({"digest": "d", **seen})
    run = trial("c", 1, "an egg", {}).model_copy(update={"pages": {"the end": page}})
    with RunFolder.create(root / "runs", manifest([("c", 1)])) as folder:
        folder.commit(run, (), card("c", 1, success=True, said="an egg"), None, picture)
    return RunFolder.open(root / "runs" / "tour")


def test_a_picture_is_sealed_with_its_trial_and_shown(tmp_path: Path) -> None:
    run = stored(tmp_path, url="http://site.test/", screenshot="page-1-end.png")

    run.verify()
    assert PICTURE == (run.path / "trials/c/1/page-1-end.png").read_bytes()
    page = html_report(tmp_path, run)
    assert f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}" in page
    assert "; img-src data:" in page


def test_a_page_that_was_not_seen_is_told_in_words_that_stay_words(tmp_path: Path) -> None:
    page = html_report(tmp_path, stored(tmp_path, url="http://site.test/", problem=f"crashed {HOSTILE}"))

    assert "crashed " in page
    assert "img-src" not in page
    assert "<script>window.hacked" not in page


@pytest.mark.parametrize("damage", [b"", b"other"])
def test_a_damaged_picture_is_named(tmp_path: Path, damage: bytes) -> None:
    from harness.errors import ResultsError

    run = stored(tmp_path, screenshot="page-1-end.png")
    (run.path / "trials/c/1/page-1-end.png").write_bytes(damage)

    with pytest.raises(ResultsError, match=r"page-1-end\.png"):
        html_report(tmp_path, run)
