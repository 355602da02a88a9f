"""Run folders that no run writes."""

import json
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.results import RunFolder
from harness.results.judgements import read_judgements


@pytest.mark.parametrize("name", ["../../manifest.json", "/etc/hostname", "a\0b", "\ud800", "", ".", ".."])
def test_a_seal_names_files_of_its_own_folder_only(runs: Path, manifest, record, name: str) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    seal = json.loads((place / "seal.json").read_text())
    (place / "seal.json").write_text(json.dumps(seal | {name: "0" * 64}))
    with pytest.raises(ResultsError, match=r"seal\.json names .*, which is no file of its folder"):
        RunFolder.open(runs / "run").verify()


def test_a_line_of_judgements_that_is_nested_too_deeply_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "judgements").mkdir()
    (tmp_path / "judgements" / "r.jsonl").write_text("[" * 100_000 + "\n")
    assert [] == list(read_judgements(tmp_path, "r"))


def test_a_planned_attempt_that_no_folder_can_be_named_after_is_refused(runs: Path, manifest) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        path = folder.path / "manifest.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"planned": [{"case_id": "a", "attempt": 10**400}]}))
    with pytest.raises(ResultsError, match=r"manifest\.json field 'planned\.0\.attempt'"):
        RunFolder.open(runs / "run")
