"""The check `reference_state` over the command line, in the sandbox `local`: a SQLite file and plain files."""

import json
import shlex
import shutil
from typing import Any

import pytest

from tests.walks.conftest import Walk, WriteSuite

SUITE = """
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent}
tools:
  - sandbox: [shell, write_file, read_file]
probes:
  - {name: desk, sql: {path: desk.db, tables: ["*"], ignore: {loan: [id]}}}
checks:
  - name: as_the_reference
    verifier: reference_state
    with: {probes: [desk], files: ["*.txt"], ignore_files: ["notes.txt"]}
limits: {seconds: 20, steps: 20}
cases: cases.json
"""
AGENT = """
import json, os, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, data)
    request.add_header("Content-Type", "application/json")
    return json.loads(urllib.request.urlopen(request).read() or "{}")

for tool, arguments in json.loads(ask("/turn")["message"]):
    ask(f"/tools/{tool}", arguments)
ask("/reply", {"message": "in other words"})
"""
TABLE = "create table if not exists loan (id integer primary key, book text, due text)"
Call = tuple[str, dict[str, Any]]


def lent(book: str, due: str = "2026-03-16") -> Call:
    """A call that lends a book: the loan gets the next number, which the probe leaves out."""
    script = (
        f"import sqlite3; made = sqlite3.connect('desk.db'); made.execute({TABLE!r}); "
        f"made.execute('insert into loan (book, due) values (?, ?)', {(book, due)!r}); made.commit()"
    )
    return "shell", {"command": f"python3 -c {shlex.quote(script)}"}


def written(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


REFERENCE = [lent("Kindred"), lent("Solaris"), written("receipt.txt", "two books\n")]


def case(name: str, made: list[Call], reference: list[Call] | None = None) -> dict[str, Any]:
    calls = REFERENCE if reference is None else reference
    return {
        "id": name,
        "task": json.dumps(made),
        "reference": [{"id": f"c{n}", "tool": tool, "arguments": said} for n, (tool, said) in enumerate(calls)],
    }


@pytest.fixture
def suite(walk: Walk, write_suite: WriteSuite) -> Walk:
    write_suite("", "", {"main.py": AGENT})
    (walk.folder / "suites/s/suite.yaml").write_text(SUITE)
    (walk.folder / "suites/s/cases.yaml").unlink()
    return walk


def write_cases(walk: Walk, *cases: dict[str, Any]) -> None:
    (walk.folder / "suites/s/cases.json").write_text(json.dumps(cases))


def verdicts(walk: Walk, run: str) -> dict[str, tuple[bool | None, str]]:
    cards = [json.loads(card) for card in walk.scorecards(run).values()]
    return {card["case_id"]: (card["verdicts"][0]["passed"], card["verdicts"][0]["reason"]) for card in cards}


def scored_again(walk: Walk, run: str) -> list[dict[str, Any]]:
    """The scorecards of the first scoring after the run's own."""
    lines = (walk.folder / "runs" / run / "scores/1/scorecards.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def run(walk: Walk, name: str, *words: str, status: int = 0) -> str:
    return walk("run", "s", "--sandbox", "local", "--jobs", "2", "--run-name", name, *words, status=status).stderr


@pytest.mark.slow
def test_only_the_end_state_counts_and_the_first_differences_are_named(suite: Walk) -> None:
    other_order = [REFERENCE[2], REFERENCE[1], ("read_file", {"path": "receipt.txt"}), REFERENCE[0]]
    write_cases(
        suite,
        case("other-order", [*other_order, written("notes.txt", "for myself")]),
        case("other-day", [lent("Kindred", "2026-04-01"), *REFERENCE[1:]]),
        case("one-more", [*REFERENCE, lent("Dune")]),
        case("other-file", [*REFERENCE[:2], written("receipt.txt", "three books\n"), written("more.txt", "")]),
        case("nothing", []),
    )

    run(suite, "first")

    found = verdicts(suite, "first")
    assert (True, "the end state is the one that the reference leaves") == found["other-order"]
    assert (False, True) == (found["other-day"][0], "table 'loan', row " in found["other-day"][1])
    assert found["other-day"][1].endswith('column \'due\' is "2026-04-01", and the reference leaves "2026-03-16"')
    row = '{"book":"Dune","due":"2026-03-16"}'
    assert f"row {row} is there" in found["one-more"][1]
    assert "/work/more.txt was added" in found["other-file"][1]
    assert "/work/receipt.txt " in found["other-file"][1]
    assert found["nothing"][1].startswith("desk: table 'loan' is not there, and the reference leaves it")


@pytest.mark.slow
def test_a_reference_is_played_once_and_again_when_it_changed(suite: Walk) -> None:
    write_cases(suite, case("a", REFERENCE), case("b", REFERENCE))
    assert "reference states: 2 to play, 0 stored" in run(suite, "first")
    assert "to play" not in run(suite, "second")

    changed = [*REFERENCE, lent("Dune")]
    write_cases(suite, case("a", REFERENCE), case("b", changed, changed))
    assert "reference states: 1 to play, 1 stored" in run(suite, "third")

    cached = sorted((suite.folder / ".harness/reference_states").iterdir())
    assert 3 == len(cached)
    for path in cached:
        path.write_text(path.read_text()[:100])  # as a damaged disk leaves it
    assert "reference states: 2 to play, 0 stored" in run(suite, "fourth")
    assert {True} == {passed for passed, _ in verdicts(suite, "fourth").values()}


def test_a_stored_state_without_its_probes_is_no_state(suite: Walk) -> None:
    write_cases(suite, case("a", []))
    run(suite, "first")
    (cached,) = (suite.folder / ".harness/reference_states").iterdir()
    state = json.loads(cached.read_text())
    cached.write_text(json.dumps(state | {"probes": [], "states": {}, "end_state": {}}))
    assert "reference states: 1 to play, 0 stored" in run(suite, "second")
    assert verdicts(suite, "second")["a"][0] is False


@pytest.mark.slow
def test_a_reference_that_fails_is_named_with_its_call_before_any_trial(suite: Walk) -> None:
    wrong = [lent("Kindred"), ("read_file", {"path": "nowhere.txt"})]
    unknown = [("shell", {"cmd": "true"})]
    write_cases(suite, case("good", REFERENCE), case("gone", [], wrong), case("refused", [], unknown))

    said = run(suite, "first", status=2)

    assert "case 'gone': the reference's call 'c1' (read_file) failed: tool_error" in said
    assert "case 'refused': the reference's call 'c0' (shell) failed: invalid_arguments" in said
    assert not (suite.folder / "runs/first").exists()
    assert 1 == len(list((suite.folder / ".harness/reference_states").iterdir()))  # the good one is not played again

    checked = suite("case", "check", "s", "--sandbox", "local", "--json", status=1)
    problems = {one["case_id"]: one["problem"] for one in json.loads(checked.stdout)}
    assert problems["good"] is None
    assert "call 'c1' (read_file)" in problems["gone"]


@pytest.mark.slow
def test_case_check_holds_nop_to_the_state_of_the_reference(suite: Walk) -> None:
    write_cases(suite, case("changes", []), case("changes-nothing", [], []))

    checked = suite("case", "check", "s", "--sandbox", "local", "--json", status=1)

    problems = {one["case_id"]: one["problem"] for one in json.loads(checked.stdout)}
    assert problems["changes"] is None
    assert "an agent that does nothing passes it" in problems["changes-nothing"]


@pytest.mark.slow
def test_a_stored_run_is_scored_again_by_what_it_holds(suite: Walk) -> None:
    write_cases(suite, case("a", REFERENCE), case("b", []))
    run(suite, "first")
    shutil.rmtree(suite.folder / ".harness/reference_states")

    suite("score", "first")
    assert {"a": True, "b": False} == {one["case_id"]: one["success"] for one in scored_again(suite, "first")}

    state = suite.folder / "runs/first/reference_states/a.state.json"
    whole = state.read_text()
    state.write_text(whole.replace("Kindred", "Forged"))
    assert "a.state.json" in suite("score", "first", status=3).stderr
    state.unlink()
    state.symlink_to("/etc/hostname")
    assert "a.state.json" in suite("score", "first", status=3).stderr


@pytest.mark.slow
def test_a_case_whose_reference_changed_since_the_run_is_undecided(suite: Walk) -> None:
    write_cases(suite, case("a", REFERENCE))
    run(suite, "first")
    write_cases(suite, case("a", REFERENCE, [lent("Dune")]))

    suite("score", "first")

    [card] = scored_again(suite, "first")
    verdict = card["verdicts"][0]
    assert verdict["passed"] is None
    assert "no state that the case's reference leaves is stored with the run: run again" == verdict["reason"]


@pytest.mark.slow
def test_shards_carry_their_reference_states_into_the_merged_run(suite: Walk) -> None:
    write_cases(suite, case("a", REFERENCE), case("b", REFERENCE), case("c", []))
    run(suite, "one", "--shard", "1/2")
    run(suite, "two", "--shard", "2/2")

    suite("merge", "one", "two", "--run-name", "whole")

    names = {path.name for path in (suite.folder / "runs/whole/reference_states").iterdir()}
    assert {"a.state.json", "b.state.json", "c.state.json", "seal.json"} == names
    suite("score", "whole")


SERVED = """
servers: {desk: {base_url: "http://127.0.0.1:9"}}
probes: [{name: loans, tool: loans}]
tools:
  - {name: loans, server: desk, effect: read, http: {path: /loans}}
checks: [{name: same, verifier: reference_state}]
cases: cases.json
"""


def test_a_replay_has_no_state_to_compare_and_is_refused_with_the_remedy(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(SERVED, "", {"main.py": AGENT})
    write_cases(walk, {"id": "a", "task": "[]", "reference": []})

    replayed = walk("run", "s", "--sandbox", "local", status=2).stderr
    live = walk("run", "s", "--sandbox", "local", "--live", "tools", status=2).stderr

    assert "probe 'loans'" in replayed
    assert "--live sealed" in replayed
    assert "server 'desk'" in live
    assert "the environment" in live.partition("-> ")[2]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{probes: [nowhere]}", "'nowhere' is none of the suite's probes"),
        ("{ignore: {desk: [/rows]}}", "leave columns out by its `sql.ignore`"),
        ("{unordered: {other: [/rows]}}", "'other' is none of the probes that are compared"),
        ("{ignore: {desk: [rows]}}", "expected a JSON pointer"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(suite: Walk, rule: str, said: str) -> None:
    write_cases(suite, case("a", []))
    file = suite.folder / "suites/s/suite.yaml"
    before = '{probes: [desk], files: ["*.txt"], ignore_files: ["notes.txt"]}'
    file.write_text(file.read_text().replace(before, rule))

    assert said in run(suite, "first", status=2)


def test_a_case_without_a_reference_is_refused(suite: Walk) -> None:
    write_cases(suite, {"id": "a", "task": "[]"})
    assert "'a'" in run(suite, "first", status=2)


@pytest.mark.slow
def test_a_resumed_run_compares_with_the_states_that_it_began_with(suite: Walk) -> None:
    write_cases(suite, case("a", REFERENCE), case("b", REFERENCE))
    run(suite, "first")
    shutil.rmtree(suite.folder / ".harness/reference_states")
    shutil.rmtree(suite.folder / "runs/first/trials/b")
    shutil.rmtree(suite.folder / "runs/first/scores", ignore_errors=True)

    resumed = suite("run", "--resume", "first", "--sandbox", "local").stderr

    assert "to play" not in resumed
    assert {"a": True, "b": True} == {name: passed for name, (passed, _) in verdicts(suite, "first").items()}


MISSED = """
servers: {desk: {base_url: "http://127.0.0.1:9"}}
tools:
  - {name: loans, server: desk, effect: read, http: {path: /loans}}
  - sandbox: [write_file]
checks: [{name: same, verifier: reference_state, with: {files: ["**"]}}]
cases: cases.json
"""


@pytest.mark.slow
def test_a_reference_that_meets_no_recording_is_a_fault_of_the_case(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(MISSED, "", {"main.py": AGENT})
    write_cases(walk, case("a", [], [written("a.txt", ""), ("loans", {})]), case("b", [], [written("a.txt", "")]))

    said = run(walk, "first", status=2)

    assert "case 'a': the reference's call 'c1' (loans) failed: replay_miss" in said
    assert "case 'b'" not in said


SHOP = '''
"""A shop whose orders have new ids in every run."""

import uuid

ORDERS = []


def order(item: str) -> dict:
    """Orders an item."""
    ORDERS.append({"id": str(uuid.uuid4()), "item": item})
    return ORDERS[-1]


def cancel(id: str) -> dict:
    """Cancels an order."""
    ORDERS[:] = [one for one in ORDERS if one["id"] != id]
    return {"orders": len(ORDERS)}


def orders() -> dict:
    """All orders."""
    return {"orders": ORDERS}
'''
PROGRAMS = """
tools:
  - python: tools.py
    disposable: true
    reads: [orders]
    override: {order: {generated_ids: [/id]}}
probes: [{name: orders, tool: orders}]
checks: [{name: same, verifier: reference_state, with: {unordered: {orders: [/orders]}}}]
cases: cases.json
"""


@pytest.mark.slow
def test_generated_ids_of_equal_calls_are_equal_and_programs_are_played_in_every_run(
    walk: Walk, write_suite: WriteSuite
) -> None:
    write_suite(PROGRAMS, "", {"main.py": AGENT})
    (walk.folder / "suites/s/tools.py").write_text(SHOP)
    write_cases(walk, {"id": "a", "task": "[]", "reference": []})
    walk("tool", "refresh", "s")
    tea, oats = ("order", {"item": "tea"}), ("order", {"item": "oats"})
    write_cases(walk, case("same", [oats, tea], [tea, oats]), case("fewer", [oats], [tea, oats]))

    first = run(walk, "first", "--live", "sealed")
    second = run(walk, "second", "--live", "sealed")

    assert "reference states: 2 to play, 0 stored" in first
    assert "reference states: 2 to play, 0 stored" in second
    found = verdicts(walk, "first")
    assert (True, False) == (found["same"][0], found["fewer"][0])
    assert found["fewer"][1].startswith('orders/orders: item {"id":')
    assert found["fewer"][1].endswith('"item":"tea"} is not there, and the reference leaves it')
    assert "probe '" in run(walk, "third", status=2)


@pytest.mark.slow
def test_a_fork_can_be_scored_again(suite: Walk) -> None:
    write_cases(suite, case("one-more", [*REFERENCE, lent("Dune")]))
    run(suite, "failed")
    forked = json.loads(
        suite("fork", "failed", "one-more", "--at", "4", "--drop", "--sandbox", "local", "--json").stdout
    )
    assert [True] == [one["success"] for one in forked["trials"]]
    suite("score", forked["run"])
    assert [True] == [card["success"] for card in scored_again(suite, forked["run"])]
