"""From failure to case: a trial becomes a case that serves the same agent the same again."""

import json
import shutil
from pathlib import Path

import pytest

from harness.cassettes.cassette import load_cassette
from harness.errors import InvalidDocument, UsageError
from harness.runs.cases.from_trace import Drafted, Request, case_from_trace
from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from tests.walks.conftest import ROOT, Walk, WriteSuite

pytestmark = [pytest.mark.docker, pytest.mark.slow]

FAILED = ("order-correctness-010", "order-correctness-011", "order-correctness-012")
LISTED = "cases: [cases.yaml, regressions.yaml]"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """The first order taker's run, in which three guests did not get what they asked for."""
    folder = tmp_path_factory.mktemp("failed")
    for name in ("suites/drive_thru", "images/drive_thru", "snapshots/drive_thru", "cassettes/drive_thru"):
        shutil.copytree(ROOT / name, folder / name)
    walk = Walk(folder)
    walk("run", "drive_thru", "--agent", "v1", "--only", "category=modifiers", "--run-name", "v1")
    return walk


@pytest.fixture
def drafting(failed: Walk, tmp_path: Path) -> Walk:
    """A project with that run, of which nothing was drafted yet."""
    shutil.copytree(failed.folder, tmp_path / "project")
    return Walk(tmp_path / "project")


def digests(walk: Walk, run: str) -> list[str]:
    return sorted(card.digest for card in RunFolder.open(walk.folder / "runs" / run).scorecards())


def test_each_failure_as_a_case_serves_the_same_agent_to_the_same_trajectory(drafting: Walk) -> None:
    told = [drafting("case", "from-trace", "v1", case) for case in FAILED]
    assert all(LISTED in done.stderr for done in told)
    suite = drafting.folder / "suites" / "drive_thru" / "suite.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("cases: cases.yaml", LISTED), encoding="utf-8")
    drafted = [done.stdout.split()[0] for done in told]
    again = [word for case in drafted for word in ("--case", case)]
    summary = drafting.summary("run", "drive_thru", "--agent", "v1", "--run-name", "again", *again)
    assert (3, 0) == (summary["counts"]["finished"], summary["counts"]["inconclusive"])
    assert digests(drafting, "v1") == digests(drafting, "again")


def test_the_case_says_where_it_comes_from_what_failed_and_keeps_the_cases_limits(drafting: Walk) -> None:
    done = drafting("case", "from-trace", "v1", FAILED[1])
    suite = drafting.folder / "suites" / "drive_thru" / "suite.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("cases: cases.yaml", LISTED), encoding="utf-8")
    case = load_suite(drafting.folder, "drive_thru").cases[-1]
    trial = drafting.trial("v1", FAILED[1])
    assert f"prod-regression-{trial['trajectory']['trace_id'][:8]}" == case.id == done.stdout.split()[0]
    assert f"v1/{FAILED[1]}/1" == case.origin
    assert "Failed order: missing: 1 x large latte (extra shot, oat milk)" in case.description
    source = next(one for one in load_suite(drafting.folder, "drive_thru").cases if one.id == FAILED[1])
    assert source.limits == case.limits
    assert "the trial it was made from fails it" in done.stdout
    assert "regression" in case.tags


def test_the_cassette_holds_what_the_trial_used_and_no_more(drafting: Walk) -> None:
    done = drafting("case", "from-trace", "v1", FAILED[0])
    cassettes = drafting.folder / "cassettes" / "drive_thru"
    used = {one.place for one in load_cassette(cassettes / f"{done.stdout.split()[0]}.yaml").recordings}
    whole = {one.place for one in load_cassette(cassettes / f"{FAILED[0]}.yaml").recordings}
    assert used < whole
    assert sum(drafting.trial("v1", FAILED[0])["tiers"].values()) >= len(used)


def drafted(walk: Walk, case: str, file: Path | None = None) -> Drafted:
    """Without a process of its own, where the command line is not what is looked at."""
    return case_from_trace(walk.folder, Request(run=walk.folder / "runs" / "v1", case_id=case, file=file))


def test_a_trace_becomes_a_case_once_and_what_stood_in_the_file_stays(drafting: Walk) -> None:
    file = drafted(drafting, FAILED[0]).file
    first = file.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="'prod-regression-"):
        drafted(drafting, FAILED[0])
    assert first == file.read_text(encoding="utf-8")
    drafted(drafting, FAILED[1])
    assert file.read_text(encoding="utf-8").startswith(first.rstrip("\n"))


def test_a_file_that_takes_no_case_is_refused_and_leaves_no_cassette(drafting: Walk) -> None:
    odd = drafting.folder / "odd.yaml"
    odd.write_text("cases: 7\n", encoding="utf-8")
    before = sorted((drafting.folder / "cassettes").rglob("*.yaml"))
    with pytest.raises(InvalidDocument, match=r"odd\.yaml"):
        drafted(drafting, FAILED[0], odd)
    assert before == sorted((drafting.folder / "cassettes").rglob("*.yaml"))


def test_a_file_that_the_suite_reads_already_needs_no_further_line(drafting: Walk) -> None:
    folder = drafting.folder / "suites" / "drive_thru"
    suite = folder / "suite.yaml"
    listed = suite.read_text(encoding="utf-8").replace("cases: cases.yaml", "cases: [cases.yaml, more.yaml]")
    (folder / "more.yaml").write_text("- {id: more, task: More.}\n", encoding="utf-8")
    suite.write_text(listed, encoding="utf-8")
    done = drafted(drafting, FAILED[0], folder / "more.yaml")
    assert done.listed
    assert ["more", done.case.id] == [case.id for case in load_suite(drafting.folder, "drive_thru").cases[-2:]]


def test_a_trial_that_is_not_there_is_refused_with_those_that_are(drafting: Walk) -> None:
    with pytest.raises(UsageError, match=FAILED[0]):
        drafted(drafting, "nobody")


SHOP = """
servers: {shop: {base_url: "http://127.0.0.1:9", disposable: true}}
tools:
  - name: get_stock
    server: shop
    effect: read
    http: {method: GET, path: "/stock/{sku}"}
    parameters: {type: object, properties: {sku: {type: string}}, required: [sku]}
  - name: place_order
    server: shop
    http: {method: POST, path: /orders, body: arguments}
    parameters: {type: object, properties: {sku: {type: string}, count: {type: integer}}, required: [sku]}
checks: [{name: answer, verifier: final_answer, with: {contains: sold out}}]
cases: [cases.yaml, regressions.yaml]
"""
ASKED = """
import json, os, urllib.error, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(os.environ["HARNESS_GATEWAY_URL"] + path, data).read()

ask("/turn")
seen = [
    json.loads(ask("/tools/get_stock", {"sku": "lamp"})),
    json.loads(ask("/tools/place_order", {"sku": "lamp", "count": 2})),
    json.loads(ask("/tools/get_stock", {"sku": "lamp"})),
]
ask("/reply", {"message": f"{json.dumps(seen)}: sold out"})
"""
CALLS = (
    ("get_stock", {"sku": "lamp"}, '{"left": 2}'),
    ("place_order", {"sku": "lamp", "count": 2}, "ordered"),
    ("get_stock", {"sku": "lamp"}, '{"left": 0}'),
)


def foreign(folder: Path) -> Path:
    """A conversation that somebody else has kept."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Two lamps, please."}]
    for number, (tool, arguments, answer) in enumerate(CALLS):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
    messages.append({"role": "assistant", "content": "Two lamps are ordered."})
    path = folder / "production.jsonl"
    path.write_text(json.dumps({"messages": messages, "task_id": "lamps", "reward": 0.0}) + "\n", encoding="utf-8")
    return path


def test_an_imported_trace_becomes_a_case_whose_cassette_answers_as_was_seen(
    walk: Walk, write_suite: WriteSuite
) -> None:
    write_suite(SHOP, "- {id: hello, task: Hello.}\n", {"main.py": ASKED})
    regressions = walk.folder / "suites" / "s" / "regressions.yaml"
    regressions.write_text("# Ours.\n- {id: bye, task: Bye.}\n", encoding="utf-8")
    walk("import", "openai-chat", str(foreign(walk.folder)), "--run-name", "production")
    refused = walk("case", "from-trace", "production", "lamps", status=2)
    assert str(walk.folder / "runs" / "production") in refused.stderr
    done = walk("case", "from-trace", "production", "lamps", "--suite", "s")
    assert "suite.yaml does not list" not in done.stderr
    case = done.stdout.split()[0]
    walk("run", "s", "--case", case, "--run-name", "again")
    trial = walk.trial("again", case)
    assert {"exact": 3} == trial["tiers"]
    assert '[{"left": 2}, "ordered", {"left": 0}]: sold out' == trial["trajectory"]["final_output"]
    suite = load_suite(walk.folder, "s")
    assert suite.defaults == suite.cases[-1].limits
