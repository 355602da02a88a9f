"""From where each recording was taken: kept, counted, shown, and never guessed."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from harness.cassettes.check import list_cassettes
from harness.suite.loading import load_suite
from harness.suite.suite_file import suite_names
from tests.drift.shop import Shop, open_shop
from tests.gateway.models.model_server import serve_models
from tests.walks.conftest import ROOT, Walk
from tests.walks.recordings.test_second_agent import MAIN, SUITE, serve_notes, think

LOCAL = ("--sandbox", "local", "--jobs", "1")
OF_STOCK = """\
  - name: get_stock
    server: stock
    effect: read
    http: {path: /stock}
probes:
  - {name: stock, tool: get_stock}
"""
COUNTS = {"service": 1, "double": 8}
IN_WORDS = "1 recorded from a service, 8 recorded from a double"


@pytest.fixture
def stock() -> Iterator[Shop]:
    with open_shop({"GET /stock": {"pots": 3}}) as opened:
        yield opened


@pytest.fixture
def mixed(walk: Walk, stock: Shop) -> Iterator[Walk]:
    """A suite whose notes and model are doubles, and whose stock is a service; recorded once."""
    with serve_notes() as notes, serve_models() as models:
        models.think = think
        folder = walk.folder / "suites" / "s"
        (folder / "agent").mkdir(parents=True)
        (folder / "agent" / "main.py").write_text(MAIN, encoding="utf-8")
        text = SUITE.format(notes=notes.url, models=models.url)
        text = text.replace(
            "disposable: true}", f'disposable: true, double: true}}\n  stock: {{base_url: "{stock.url}", state: stock}}'
        )
        text = text.replace("probes:\n", OF_STOCK).replace(f'"{models.url}"}}', f'"{models.url}", double: true}}')
        (folder / "suite.yaml").write_text(text, encoding="utf-8")
        (folder / "cases.yaml").write_text("- {id: c1, task: Note that the plants are watered.}\n", encoding="utf-8")
        walk("record", "s", "--agent", "brief", "--jobs", "1")
        yield walk


def cassette(walk: Walk) -> Path:
    return walk.folder / "cassettes/s/c1.yaml"


def listed(walk: Walk) -> dict[str, int]:
    (cassette,) = json.loads(walk("cassette", "show", "s", "--json").stdout)
    found: dict[str, int] = cassette["provenance"]
    return found


def shown(walk: Walk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(walk("cassette", "show", "s", "c1", "--json").stdout)["recordings"]
    return found


@pytest.mark.slow
def test_a_cassette_of_mixed_origin_says_how_many_of_each(mixed: Walk) -> None:
    assert COUNTS == listed(mixed)
    assert IN_WORDS in mixed("cassette", "show", "s").stdout
    said = mixed("cassette", "show", "s", "c1").stdout
    assert IN_WORDS in said.splitlines()[0]
    assert (8, 1) == (said.count(" [double]\n"), said.count(" [service]\n"))
    whence = {(one["kind"], one["server"]): one["provenance"] for one in shown(mixed)}
    assert {
        ("tool", "stock"): "service",
        ("tool", "notes"): "double",
        ("probe", "world"): "double",
        ("model", "model:openai"): "double",
    } == whence


@pytest.mark.slow
def test_the_report_says_where_figures_come_from_doubles(mixed: Walk) -> None:
    summary = mixed.summary("run", "s", "--run-name", "replayed", *LOCAL)
    assert COUNTS == summary["provenances"]
    words = "answers by provenance: 1 from services, 8 from doubles"
    assert words in mixed("report", "replayed").stdout
    assert words[1:] in mixed("report", "replayed", "--format", "markdown").stdout
    assert "8 from doubles" in mixed("report", "replayed", "--format", "junit").stdout
    live = mixed.summary("run", "s", "--run-name", "live", "--live", "all", *LOCAL)
    assert COUNTS == live["provenances"]


@pytest.mark.slow
def test_an_answer_that_somebody_has_changed_is_written_by_hand(mixed: Walk) -> None:
    text = cassette(mixed).read_text()
    assert text.count('{"pots": 3}') == 1
    cassette(mixed).write_text(text.replace('{"pots": 3}', '{"pots": 4}'))

    assert {"double": 8, "hand": 1} == listed(mixed)
    assert ["hand"] == [one["provenance"] for one in shown(mixed) if one["server"] == "stock"]
    assert "1 written by hand" in mixed("cassette", "show", "s", "c1").stdout
    # Only an answer of the service itself, taken over on purpose, makes it the service's again.
    mixed("record", "s", "--agent", "brief", "--jobs", "1")
    assert {"double": 8, "hand": 1} == listed(mixed)
    mixed("record", "s", "--agent", "brief", "--jobs", "1", "--refresh")
    assert COUNTS == listed(mixed)


@pytest.mark.slow
def test_stock_vcrpy_reads_the_file_and_keeps_what_it_says(mixed: Walk) -> None:
    assert "1 cassettes checked, 0 problems" in mixed("cassette", "check", "s").stdout
    requests, responses, metadata = FilesystemPersister.load_cassette(cassette(mixed), yamlserializer)
    kept = {"requests": requests, "responses": responses, "metadata": metadata}
    FilesystemPersister.save_cassette(cassette(mixed), kept, yamlserializer)
    assert COUNTS == listed(mixed)


@pytest.mark.slow
def test_drift_names_doubles_and_finds_nothing_in_a_provenance_alone(mixed: Walk, stock: Shop) -> None:
    said = mixed("drift", "probe", "s", "--no-flips", "--tool", "get_stock", "--run-name", "first").stdout
    assert "drift of s: none" in said
    assert "asked are doubles" not in said

    suite = mixed.folder / "suites/s/suite.yaml"
    suite.write_text(suite.read_text().replace(f'"{stock.url}"', f'"{stock.url}", double: true'))
    said = mixed("drift", "probe", "s", "--no-flips", "--tool", "get_stock", "--run-name", "second").stdout
    assert "drift of s: none" in said
    assert "asked are doubles: stock" in said


DECLARED = """\
agents:
  v1: {{command: [python3, "{{agent}}/main.py"], files: agent}}
servers:
  shop: {{service: shop{double}}}
hosts:
  - {{host: shop.test, service: shop{double}}}
model: {{base_url: "http://127.0.0.1:1"{double}}}
tools:
  - sandbox: [shell]
  - mcp: {{base_url: "http://127.0.0.1:2/mcp"}}
    server: far
    only: []
{group}
"""


@pytest.mark.slow
def test_what_is_declared_a_double_is_no_part_of_what_is_asked(walk: Walk, write_suite: Any) -> None:
    digests = []
    for double, group in (("", ""), (", double: true", "    double: true")):
        rest = DECLARED.partition("servers:")[2]
        write_suite("servers:" + rest.format(double=double, group=group), "- {id: c1, task: Look.}\n", {"main.py": ""})
        tools = walk.folder / "suites/s/tools"
        tools.mkdir(exist_ok=True)
        (tools / "far.json").write_text('{"server": "far", "source": "elsewhere", "tools": []}')
        suite = load_suite(walk.folder, "s")
        digests.append(suite.digest)

    assert digests[0] == digests[1]
    assert {"shop", "http:shop.test", "far"} == suite.doubles.servers
    assert suite.doubles.model
    assert suite.doubles.provenance("tool", "sandbox", "{}") is None
    asked = '{"service":"shop"}'
    assert "double" == suite.doubles.provenance("probe", "world", asked)


def test_every_committed_recording_says_where_it_was_taken_from() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for suite in suite_names(ROOT):
        for cassette in list_cassettes(ROOT / "cassettes", suite):
            found.update({(suite, name): count for name, count in cassette.provenance.items()})

    # Every tool, host and model of these suites is a program of this repository. PostgreSQL is what it is.
    assert {("library_desk", "service")} == {one for one in found if one[1] != "double"}
    assert {"basics", "drive_thru", "drive_thru_talk", "frameworks", "grocery", "library_desk", "web_shop"} == {
        suite for suite, name in found if name == "double"
    }
