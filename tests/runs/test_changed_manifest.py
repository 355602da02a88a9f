"""A run whose manifest holds values that nothing here has: refused, by the run's folder."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError

SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent, answer: stdout}
cases: cases.yaml
checks: [{name: said, verifier: final_answer, with: {contains: right}}]
"""


@pytest.mark.parametrize("field", ["suite", "agent", "agent_digest", "tool_mode", "model_mode", "provider"])
def test_a_changed_value_is_refused_by_the_folder_of_the_run(tmp_path: Path, field: str) -> None:
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "agent" / "main.py").write_text("print('right')")
    (folder / "cases.yaml").write_text("- {id: a, task: Speak}\n")
    words = ["--project", str(tmp_path), "run"]
    done = CliRunner().invoke(harness, [*words, "s", "--sandbox", "local", "--run-name", "r"])
    assert done.exit_code == 0, done.output
    path = tmp_path / "runs" / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {field: "'" + manifest[field][1:]}))

    refused = CliRunner().invoke(harness, [*words, "--resume", "r"])

    assert isinstance(refused.exception, UsageError)
    assert str(path.parent) in str(refused.exception)
