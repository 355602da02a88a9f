"""An MCP server that is a service of the environment, a container of its own: listed, sealed, recorded, replayed."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.starting import LIVE
from tests.walks.conftest import Walk

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SERVER = (Path(__file__).parents[2] / "suite" / "tool_sources" / "tiny_server.py").read_text(encoding="utf-8")
AGENT = """
import json, os, urllib.request
URL = os.environ["HARNESS_GATEWAY_URL"]
def ask(path, body):
    sent = urllib.request.Request(URL + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent) as answer:
        return json.loads(answer.read() or b"null")
told = [ask("/tools/note_add", {"text": "eggs"}), ask("/tools/notes", {})]
ask("/reply", {"message": json.dumps(told)})
"""


@pytest.fixture
def notes(tmp_path: Path) -> Walk:
    walk = Walk(tmp_path)
    image = walk.folder / "images" / "notes" / "server"
    image.mkdir(parents=True)
    (image / "tiny_server.py").write_text(SERVER)
    (image / "Dockerfile").write_text(
        "ARG BASE=base\nFROM ${BASE}\nCOPY tiny_server.py /srv/\nUSER 10001:10001\n"
        'CMD ["python3", "-u", "/srv/serve.py"]\nCOPY serve.py /srv/\n'
    )
    (image / "serve.py").write_text(
        "import sys; sys.path.insert(0, '/srv')\nfrom tiny_server import Handler, ThreadingHTTPServer\n"
        "server = ThreadingHTTPServer(('0.0.0.0', 8000), Handler)\n"
        "print('notes are served', flush=True); server.serve_forever()\n"
    )
    service = {"image": "server", "port": 8000, "wait": {"log": "notes are served"}, "memory_mb": 128}
    (walk.folder / "images" / "notes" / "environment.yaml").write_text(yaml.safe_dump({"services": {"notes": service}}))
    suite = walk.folder / "suites" / "s"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(AGENT)
    document = {
        "environment": "notes",
        "agents": {"a": {"command": ["python3", "{agent}/main.py"], "files": "agent"}},
        "tools": [{"mcp": {"service": "notes"}, "server": "notes"}],
    }
    (suite / "suite.yaml").write_text(yaml.safe_dump(document))
    (suite / "cases.yaml").write_text("- {id: c, task: Note it., nop_passes: true}\n")
    return walk


def test_an_mcp_server_in_a_container_is_listed_sealed_recorded_and_replayed(notes: Walk) -> None:
    assert "notes: 3 tools" in notes("tool", "refresh", "s").stdout
    answers = {}
    for mode in ("sealed", "record", "replay"):
        notes("run", "s", "--live", LIVE[mode], "--run-name", mode)
        answers[mode] = json.loads(notes.trial(mode, "c")["trajectory"]["final_output"])

    assert "1 notes" == answers["sealed"][0]["content"][0]["text"]
    assert answers["sealed"] == answers["record"] == answers["replay"]
    assert {"exact": 2} == notes.trial("replay", "c")["tiers"]
