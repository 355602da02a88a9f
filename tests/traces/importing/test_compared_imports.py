"""Imported runs beside each other: by case and content, whatever their files are called."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.traces.importing.test_import_command import _record, _type

FIXTURES = Path(__file__).parent / "fixtures"
FORMATS = [
    ("adk.session.json", "adk"), ("anthropic.json", "anthropic"), ("atif.json", "atif"), ("inspect.json", "inspect"),
    ("langfuse.jsonl", "langfuse"), ("openai_chat.jsonl", "openai-chat"), ("openinference.json", "otel"),
    ("otel_logs.jsonl", "otel"), ("tau2.json", "tau2"),
]  # fmt: skip


def compared(folder: Path, format: str, before: Path, after: Path) -> dict[str, Any]:
    for name, file in (("before", before), ("after", after)):
        said = _type(folder, "import", format, str(file), "--run-name", name)
        assert file.name.split(".")[0] in json.loads((folder / "runs" / name / "manifest.json").read_text())["suite"], (
            said
        )
    said = _type(folder, "compare", "before", "after", "--json")
    assert said.startswith("{"), said
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.mark.parametrize(("fixture", "format"), FORMATS)
def test_the_same_content_under_two_names_is_compared_and_nothing_differs(
    tmp_path: Path, fixture: str, format: str
) -> None:
    suffix = fixture[fixture.index(".") :]
    files = [tmp_path / f"{name}{suffix}" for name in ("monday", "night_2")]
    for file in files:
        shutil.copy(FIXTURES / fixture, file)
    found = compared(tmp_path, format, *files)
    assert ([], []) == (found["differences"], found["attribution"]["changed"])


def test_events_alone_and_sessions_without_an_id_are_cases_by_what_was_asked(tmp_path: Path) -> None:
    session = {"events": [{"author": "user", "content": {"parts": [{"text": "Hi"}]}}]}
    asked = [{"role": "user", "content": "Hi"}]
    output = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
    events = {"events": [{"event": "model", "input": asked, "output": output, "tools": []}]}
    for format, content in (("adk", session), ("inspect", events)):
        files = [tmp_path / format / f"{name}.json" for name in ("monday", "night_2")]
        for file in files:
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(content))
        assert [] == compared(tmp_path / format, format, *files)["differences"]


def _calling(id: str, tool: str, **more: Any) -> str:
    call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    messages = [
        {"role": "system", "content": more.pop("system", "Be kind.")},
        {"role": "user", "content": more.pop("task", f"Do {id}.")},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "assistant", "content": "Done."},
    ]
    return json.dumps({"id": id, "messages": messages, **more})


def test_another_night_is_compared_by_the_cases_that_ask_the_same(tmp_path: Path) -> None:
    """Other tools in use, another prompt, a case more and less, and a case whose question changed."""
    before = [_calling(name, "look", success=True) for name in "abcd"] + [_calling("old", "look", success=True)]
    after = [
        _calling("a", "look", success=True, system="Be brief."),
        _calling("b", "search", success=False),
        _calling("c", "look", success=False, task="Do something else."),
        _record("new", success=True),
        _calling("d", "look"),
    ]
    for name, records in (("monday", before), ("tuesday", after)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(records))
    found = compared(tmp_path, "openai-chat", tmp_path / "monday.jsonl", tmp_path / "tuesday.jsonl")
    assert (2, 1.0, 0.5) == tuple(found["success"][name] for name in ("pairs", "before", "after"))
    assert ["b"] == [one["case_id"] for one in found["changed"]]
    assert "tools_digest" not in {one["field"] for one in found["differences"]}, "what was in use is no declaration"


def test_runs_without_a_case_in_common_are_refused(tmp_path: Path) -> None:
    for name, task in (("monday", "Do this."), ("tuesday", "Do that.")):
        (tmp_path / f"{name}.jsonl").write_text(_calling("a", "look", task=task))
        _type(tmp_path, "import", "openai-chat", str(tmp_path / f"{name}.jsonl"), "--run-name", name)
    assert "have no trial of a case that asks the same" in _type(tmp_path, "compare", "monday", "tuesday")
