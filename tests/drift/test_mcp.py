"""Drift of MCP servers: a program that speaks it, and one reached over HTTP; what they answer, and what they list."""

import copy
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.drift import released_server
from tests.drift.conftest import Project, told
from tests.drift.shop import Shop
from tests.serving import Answering, listening

WEATHER = {"city": "Oslo", "days": [{"high": 7, "wind": 3.5}, {"high": 9, "wind": 4}]}
FIRST: dict[str, Any] = {
    "tools": [
        {
            "name": "forecast",
            "description": "The weather of the next days.",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
                "required": ["city"],
            },
            "annotations": {"readOnlyHint": True},
        },
        {"name": "subscribe", "description": "Writes.", "inputSchema": {"type": "object", "properties": {}}},
    ],
    "answers": {
        "forecast": {"content": [{"type": "text", "text": json.dumps(WEATHER)}], "structuredContent": WEATHER},
        "subscribe": {"content": [{"type": "text", "text": "done"}]},
    },
}


def second() -> dict[str, Any]:
    release = copy.deepcopy(FIRST)
    schema = release["tools"][0]["inputSchema"]
    schema["properties"]["unit"]["enum"] = ["C"]
    schema["properties"]["days"] = {"type": "integer"}
    schema["properties"]["key"] = {"type": "string"}
    schema["required"].append("key")
    release["tools"][0]["description"] = "The weather of the next days, by the hour."
    release["tools"][1] = {"name": "alerts", "description": "New.", "inputSchema": {"type": "object"}}
    weather = {"city": "Oslo", "days": [{"high": "7", "wind": 3.5}, {"high": "9", "wind": 4}]}
    release["answers"]["forecast"] = {
        "content": [{"type": "text", "text": json.dumps(weather)}],
        "structuredContent": weather,
    }
    return release


SURFACE = [
    ("forecast", "surface.input_required_added", "listing.input.key", "absent -> string"),
    ("forecast", "surface.input_type_changed", "listing.input.unit", "string of a list -> string of a list"),
    ("forecast", "schema.type_changed", "structuredContent.days[].high", "number -> string"),
    ("forecast", "surface.description_changed", "listing.description", "text -> text"),
    ("forecast", "surface.input_added", "listing.input.days", "absent -> integer"),
    ("subscribe", "surface.tool_removed", "listing", "tool -> absent"),
    ("weather", "surface.tool_added", "tools.alerts", "absent -> tool"),
]


def _project(folder: Path, place: dict[str, Any]) -> Project:
    project = Project(folder, Shop())
    calls = [["forecast", {"city": "Oslo"}], ["subscribe", {}]]
    project.write({"one": calls}, [{"mcp": place, "server": "weather", "disposable": True}], servers={})
    project.type("tool", "refresh", "s")
    project.record()
    return project


def test_a_program_of_another_release_is_told_apart_by_answers_and_listing(tmp_path: Path) -> None:
    release = tmp_path / "release.json"
    release.write_text(json.dumps(FIRST))
    shutil.copy(released_server.__file__, tmp_path / "server.py")
    project = _project(tmp_path / "project", {"command": [sys.executable, str(tmp_path / "server.py"), str(release)]})
    assert [] == told(project.probe())
    release.write_text(json.dumps(second()))
    report = project.probe(status=1)
    assert SURFACE == told(report)
    assert ["one"] == report["findings"][0]["cases"]
    release.write_text(json.dumps(FIRST))
    clean = project.probe()
    assert [] == told(clean)
    assert [] == [one["path"] for one in report["findings"] if not _covers(clean, one)]


def test_a_server_over_http_is_told_apart_likewise_and_one_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    release = tmp_path / "release.json"
    release.write_text(json.dumps(FIRST))
    with _served(release) as url:
        project = _project(tmp_path / "project", {"base_url": url})
        release.write_text(json.dumps(second()))
        assert SURFACE == told(project.probe(status=1))
    report = project.probe(status=3)
    assert [] == told(report)
    assert 2 == len(report["unavailable"])


def _covers(report: dict[str, Any], finding: dict[str, Any]) -> bool:
    from harness.runs.store.drift_report import DriftFinding, DriftReport

    return DriftReport.model_validate(report).covers(DriftFinding.model_validate(finding))


@contextmanager
def _served(release: Path) -> Iterator[str]:
    class Handler(Answering):
        def do_POST(self) -> None:
            reply = released_server.reply_to(release, json.loads(self.sent()))
            self.give(202 if reply is None else 200, b"" if reply is None else reply)

    with listening(Handler) as address:
        yield f"{address}/mcp"
