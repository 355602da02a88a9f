"""Somebody else's trajectories as a run folder like any other."""

import json
from pathlib import Path

import pytest

from tests.walks.conftest import Walk

FIXTURES = Path(__file__).parents[2] / "traces" / "importing" / "fixtures"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tau2", "atif", "inspect", "otel", "openai-chat", "anthropic"])
def test_an_imported_run_is_scored_reported_and_scored_again(walk: Walk, form: str) -> None:
    source = next(path for path in sorted(FIXTURES.iterdir()) if path.name.startswith(form.replace("-", "_")))
    summary = walk.summary("import", form, str(source), "--run-name", "foreign")
    assert "imported" == summary["manifest"]["tool_mode"]
    before = walk("report", "foreign", "--json").stdout
    walk("score", "foreign")
    assert json.loads(before)["figures"] == json.loads(walk("report", "foreign", "--json").stdout)["figures"]
    for export in ("atif", "otlp"):
        walk("export", "foreign", "--format", export, "-o", export)
        assert summary["counts"]["planned"] == len(list((walk.folder / export).glob("*.json")))


def test_a_file_of_another_format_is_refused_and_leaves_no_run(walk: Walk) -> None:
    (walk.folder / "odd.json").write_text('{"simulations": 7}', encoding="utf-8")
    refused = walk("import", "tau2", "odd.json", status=2)
    assert "odd.json" in refused.stderr
    assert not (walk.folder / "runs").exists()
