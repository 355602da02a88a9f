"""A probe of a SQLite file from the command line: an honest agent's database is read, a hostile one fails its agent."""

from pathlib import Path

import pytest

from tests.walks.conftest import Walk

SUITE = """\
agents:
  honest: {command: [python3, "{agent}/main.py", honest], files: agent}
  hostile: {command: [python3, "{agent}/main.py", hostile], files: agent}
probes:
  - {name: menu, sql: {path: menu.db, query: "select name from menu", timeout_s: 2}}
checks:
  - {name: rows, verifier: sql, with: {probe: menu, count: 1}}
"""
AGENT = """\
import os, sqlite3, sys, urllib.request
urllib.request.urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/turn").read()
with sqlite3.connect("menu.db") as menu:
    if sys.argv[1] == "honest":
        menu.execute("create table menu (name text)")
        menu.execute("insert into menu values ('soup')")
    else:
        endless = "with recursive n(x) as (select 1 union all select x + 1 from n)"
        menu.execute(f"create view menu as {endless} select count(*) as name from n")
urllib.request.urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/reply", b'{"message": "done"}').read()
"""


@pytest.fixture
def written(walk: Walk) -> Walk:
    suite = Path(walk.folder) / "suites" / "menu"
    (suite / "agent").mkdir(parents=True)
    (suite / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (suite / "cases.yaml").write_text("- {id: one, task: write the menu}\n", encoding="utf-8")
    (suite / "agent" / "main.py").write_text(AGENT, encoding="utf-8")
    return walk


@pytest.mark.slow
def test_a_database_is_read_or_is_its_agents_failure(written: Walk) -> None:
    written("run", "menu", "--sandbox", "local", "--run-name", "good")
    written("run", "menu", "--sandbox", "local", "--agent", "hostile", "--run-name", "bad")

    assert {"rows": [{"name": "soup"}]} == written.trial("good", "one")["states"]["menu"]
    bad = written.trial("bad", "one")
    assert "finished" == bad["outcome"]
    assert {"unmeasurable": "reading it takes more than 2 s of processor time"} == bad["states"]["menu"]
    assert b'"passed": false' in written.scorecards("bad")["one/1/scorecard.json"]
