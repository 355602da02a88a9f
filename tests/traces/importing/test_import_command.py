"""`harness import` as it is typed: what its table and its refusals look like."""

import json
from pathlib import Path

from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import HarnessError


def _record(id: str, **more: object) -> str:
    said = [{"role": "user", "content": "What is the capital of France?"}, {"role": "assistant", "content": "Paris."}]
    return json.dumps({"id": id, "messages": said, **more})


def _type(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(harness, ["--project", str(folder), *words])
    return f"{done.output}{done.exception if isinstance(done.exception, HarnessError) else ''}"


def test_a_column_of_names_stays_whole_where_many_successes_are_unknown(tmp_path: Path) -> None:
    known = [_record(f"known-{n}", success=True, tools=[]) for n in range(18)]
    unknown = [_record(f"unknown-{n}") for n in range(6)]
    (tmp_path / "runs.jsonl").write_text("\n".join(known + unknown))
    _type(tmp_path, "import", "openai-chat", str(tmp_path / "runs.jsonl"), "--run-name", "b")
    said = _type(tmp_path, "report", "b", "--all")
    assert "18/18 (6 unknown)" in said
    assert "category" in said


def test_a_name_that_is_taken_is_refused_without_a_way_that_an_import_lacks(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(_record("one"))
    typed = ("import", "openai-chat", str(tmp_path / "runs.jsonl"), "--run-name", "b")
    _type(tmp_path, *typed)
    said = _type(tmp_path, *typed)
    assert "--run-name" in said
    assert "--resume" not in said
