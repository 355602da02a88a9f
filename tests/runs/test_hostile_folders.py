"""Run folders that no run writes."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import ResultsError
from harness.reports.summarising import summarise_run
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import kept_rubric, read_judgements
from harness.runs.store.storage import commit_folder
from harness.scoring.scorecard import Score


@pytest.mark.parametrize("name", ["../../manifest.json", "/etc/hostname", "a\0b", "\ud800", "", ".", ".."])
def test_a_seal_names_files_of_its_own_folder_only(runs: Path, manifest, record, name: str) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    seal = json.loads((place / "seal.json").read_text())
    (place / "seal.json").write_text(json.dumps(seal | {name: "0" * 64}))
    with pytest.raises(ResultsError, match=r"seal\.json"):
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


def test_the_digest_of_a_judged_rubric_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "run" / "judgements" / "r.").mkdir(parents=True)
    with pytest.raises(ResultsError, match=re.escape("/../../../r")):
        kept_rubric(tmp_path / "run", "r", "/../../../r")


def _as_trial(place: Path, name: str, **fields: object) -> None:
    """Changes a file of a committed trial, with its checksum."""
    files = {file.name: file.read_bytes() for file in place.iterdir() if file.name != "seal.json"}
    files[name] = json.dumps(json.loads(files[name]) | fields).encode()
    place.rename(place.with_name("9"))
    commit_folder(place, files)


@pytest.mark.parametrize("name", ["trial.json", "scorecard.json"])
@pytest.mark.parametrize("other", [{"case_id": "../../../../host/a"}, {"case_id": "b"}, {"attempt": 2}])
def test_a_trial_that_says_that_it_is_another_is_refused(
    runs: Path, manifest, record, name: str, other: dict[str, object]
) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    _as_trial(place, name)
    summarise_run(RunFolder.open(runs / "run"))
    (place.with_name("9")).rename(runs / "before")
    _as_trial(place, name, **other)
    opened = RunFolder.open(runs / "run")
    with pytest.raises(ResultsError, match=rf"a/1/{name}\b"):
        list(opened.trials() if name == "trial.json" else opened.scorecards())


def test_an_exported_trial_is_written_nowhere_else(runs: Path, manifest, record, tmp_path: Path) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    output = tmp_path / "exported"
    export = ["--project", str(tmp_path), "export", "run", "--format", "otlp", "-o", str(output)]
    CliRunner().invoke(harness, export, catch_exceptions=False)
    assert [output / "a.1.json"] == list(output.iterdir())

    _as_trial(place, "trial.json", case_id="../host")
    CliRunner().invoke(harness, export)
    assert not (tmp_path / "host.1.json").exists()


@pytest.mark.parametrize("name", ["\u00b2", "\u0665", "01", "9" * 200])
def test_a_folder_among_the_scorings_that_is_none_is_passed_over(runs: Path, manifest, record, name: str) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record())
    (folder.path / "scores" / name).mkdir(parents=True)
    assert 1 == len(RunFolder.open(runs / "run").scorecards())


@pytest.mark.parametrize("name", ["[/x]", "[link=https://evil.example]m[/link]", "m:bug:"])
def test_text_of_a_run_folder_is_no_markup(runs: Path, manifest, record, tmp_path: Path, name: str) -> None:
    trial, spans, card = record()
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(trial, spans, card.model_copy(update={"scores": (Score(metric=name, version="1", value=1.0),)}))
    done = CliRunner().invoke(harness, ["--project", str(tmp_path), "report", "run", "--all"], catch_exceptions=False)
    assert 0 == done.exit_code
    assert name in done.output
