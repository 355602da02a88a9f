"""A trial is played again up to a step, and goes on from there with one change."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from tests.cli.failing import unwritable_suite
from tests.gateway.conftest import shop, shop_server
from tests.improve.causes.conftest import LOCAL
from tests.walks.conftest import Walk, WriteSuite, walk, write_suite

__all__ = ["shop", "shop_server", "walk", "write_suite"]

CASE = "planned-meeting"


def forked(basics: Walk, *words: str, status: int = 0) -> dict:
    done = basics("fork", "good", CASE, *LOCAL, "--live", "tools", "--json", *words, status=status)
    return json.loads(done.stdout)


@pytest.mark.parametrize("step", [2, *(pytest.param(step, marks=pytest.mark.slow) for step in (0, 5))])
def test_without_a_change_the_end_is_the_same(basics: Walk, step: int) -> None:
    result = forked(basics, "--at", str(step))
    assert [(True, True)] == [(one["same_end"], one["success"]) for one in result["trials"]]
    assert 1.0 == result["determinism"]


def test_the_fork_is_a_trial_with_its_parent_its_step_and_its_change(basics: Walk, tmp_path: Path) -> None:
    arguments = tmp_path / "arguments.json"
    arguments.write_text('{"room": "amber", "hour": 14}')
    result = forked(basics, "--at", "3", "--call", "book_room", "--arguments", str(arguments))
    folder = RunFolder.open(basics.folder / "runs" / result["run"])
    variant = folder.manifest.variant(CASE, 1)
    assert variant is not None
    assert (f"good/{CASE}/1", 3) == (variant.parent, variant.interventions[-1].step)
    trial = folder.trial(CASE, 1)
    assert trial is not None
    assert {"room": "amber", "hour": 14} == next(c.arguments for c in trial.trajectory.calls if c.name == "book_room")
    assert [False] == [one["success"] for one in result["trials"]]


@pytest.mark.slow
def test_another_tool_is_called_with_the_arguments_of_the_step(basics: Walk) -> None:
    result = forked(basics, "--at", "3", "--call", "list_rooms")
    trial = RunFolder.open(basics.folder / "runs" / result["run"]).trial(CASE, 1)
    assert trial is not None
    assert [{}, {"room": "birch", "hour": 14}] == [
        call.arguments for call in trial.trajectory.calls if call.name == "list_rooms"
    ]


def test_an_answer_takes_the_place_of_the_tools(basics: Walk, tmp_path: Path) -> None:
    answer = tmp_path / "rooms.json"
    answer.write_text('{"cedar": 20}')
    result = forked(basics, "--at", "2", "--answer", str(answer))
    trial = RunFolder.open(basics.folder / "runs" / result["run"]).trial(CASE, 1)
    assert trial is not None
    assert "cedar" == next(call.arguments for call in trial.trajectory.calls if call.name == "book_room")["room"]


@pytest.mark.slow
def test_a_fault_strikes_at_the_step(basics: Walk) -> None:
    result = forked(basics, "--at", "3", "--fault", "503")
    trial = RunFolder.open(basics.folder / "runs" / result["run"]).trial(CASE, 1)
    assert trial is not None
    assert ["http_status"] == [
        seen.injected for step in trial.trajectory.steps for seen in step.observations if seen.injected
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--at", "99"), "has no step 99"),
        (("--at", "0", "--drop"), "makes no tool call"),
        (("--at", "2", "--drop", "--oracle"), "change the same call"),
        (("--at", "3", "--call", "book_rom"), "has no tool 'book_rom'"),
        (("--at", "3", "--hint", ""), "--hint is empty"),
        (("--at", "3", "--hint", " \n"), "--hint is empty"),
        (("--at", "3", "--attempt", "2"), "its attempts at the case: 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(basics: Walk, words: tuple[str, ...], told: str) -> None:
    done = basics("fork", "good", CASE, *LOCAL, *words, status=2)
    assert told in done.stderr


@pytest.mark.parametrize("content", ["[" * 100_000, '{"rooms": NaN}', "", "rooms"])
def test_an_answer_that_is_no_json_is_refused_by_its_file(basics: Walk, tmp_path: Path, content: str) -> None:
    answer = tmp_path / "rooms.json"
    answer.write_text(content)
    done = basics("fork", "good", CASE, *LOCAL, "--at", "2", "--answer", str(answer), status=2)
    assert f"{answer}: expected JSON" in done.stderr


@pytest.fixture
def dice(basics: Walk) -> Iterator[Walk]:
    """The suite with an agent that draws an argument from the clock, which has made two attempts."""
    agent = basics.folder / "suites" / "basics" / "agents" / "dice"
    agent.mkdir()
    (agent / "door.py").write_text((agent.parent / "good" / "door.py").read_text())
    (agent / "agent.py").write_text(
        "import time\nfrom door import Door\ndoor = Door()\ndoor.task()\n"
        "door.tool('plan_create', steps=[str(time.time_ns())])\ndoor.tool('list_rooms')\ndoor.reply('birch')\n"
    )
    suite = basics.folder / "suites" / "basics" / "suite.yaml"
    before = suite.read_text()
    suite.write_text(
        before.replace("agents:\n", 'agents:\n  dice: {command: [python3, "{agent}/agent.py"], files: agents/dice}\n')
    )
    words = ("--agent", "dice", "--case", CASE, *LOCAL, "--live", "tools", "--trials", "2", "--run-name", "dice")
    basics("run", "basics", *words)
    yield basics
    suite.write_text(before)
    shutil.rmtree(agent)
    shutil.rmtree(basics.folder / "runs" / "dice")


@pytest.mark.slow
def test_an_agent_that_does_otherwise_each_time_is_reported_with_the_rate(dice: Walk) -> None:
    words = ("--at", "2", "--trials", "2", "--live", "tools", "--json")
    done = dice("fork", "dice", CASE, *LOCAL, *words, status=1)
    result = json.loads(done.stdout)
    assert 0.0 == result["determinism"]
    assert all("at step 1:" in one["reason"] for one in result["trials"])
    assert re.search(r"1 of 1 .*'dice'.* at step 1\b", " ".join(done.stderr.split()))


@pytest.mark.slow
def test_another_attempt_that_differs_from_the_step_on_is_not_held_against_the_agent(dice: Walk) -> None:
    assert "not deterministic" not in dice("fork", "dice", CASE, *LOCAL, "--at", "1", "--live", "tools").stderr


@pytest.mark.slow
def test_a_case_without_a_cassette_is_refused_where_one_has_to_answer(basics: Walk) -> None:
    cassette = basics.folder / "cassettes" / "basics" / f"{CASE}.yaml"
    away = cassette.rename(cassette.with_suffix(".away"))
    try:
        for words in (("fork", "good", CASE, "--at", "2"), ("blame", "naive", CASE)):
            done = basics(*words, *LOCAL, "--live", "none", status=2)
            assert f"harness record basics --case {CASE}" in " ".join(done.stderr.split())
        basics("fork", "good", CASE, *LOCAL, "--at", "2", "--live", "tools")
    finally:
        away.rename(cassette)


@pytest.mark.slow
def test_a_trial_whose_agent_has_changed_is_refused(basics: Walk) -> None:
    program = basics.folder / "suites" / "basics" / "agents" / "good" / "agent.py"
    before = program.read_text()
    program.write_text(f"{before}\n# another one")
    try:
        refused = basics("fork", "good", CASE, *LOCAL, "--at", "2", status=2).stderr
    finally:
        program.write_text(before)
    assert "agent 'good' has changed since run 'good'" in " ".join(refused.split())


@pytest.mark.slow
def test_a_fork_that_the_harness_could_not_run_is_no_finding_about_the_agent(
    walk: Walk, write_suite: WriteSuite, shop, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flag = tmp_path_factory.mktemp("flag") / "break"
    write_suite(*unwritable_suite(shop.url, flag))
    walk("run", "s", *LOCAL, "--live", "tools,record", "--jobs", "1", "--run-name", "r")
    flag.touch()
    fork = ("fork", "r", "breaks", *LOCAL, "--at", "1", "--live", "tools", "--jobs", "1")
    result = json.loads(walk(*fork, "--json", status=3).stdout)
    assert ["harness_failed"] == [one["outcome"] for one in result["trials"]]
    assert (1, None) == (result["failed"], result["determinism"])
    told = walk(*fork, status=3).stdout
    assert "1 of 1 forks" in told
    assert "not deterministic" not in told


@pytest.mark.slow
def test_a_resumed_run_of_forks_has_their_changes(basics: Walk, tmp_path: Path) -> None:
    arguments = tmp_path / "arguments.json"
    arguments.write_text('{"room": "amber", "hour": 14}')
    kept = forked(basics, "--at", "3", "--call", "book_room", "--arguments", str(arguments))["run"]
    before = RunFolder.open(basics.folder / "runs" / kept).trial(CASE, 1)
    shutil.rmtree(basics.folder / "runs" / kept / "trials")
    basics("run", "--resume", kept, *LOCAL)
    folder = RunFolder.open(basics.folder / "runs" / kept)
    after = folder.trial(CASE, 1)
    assert before is not None
    assert after is not None
    assert before.trajectory.digest == after.trajectory.digest
    assert [False] == [card.success for card in folder.scorecards()]


def test_the_cases_of_a_run_are_listed_where_none_is_named(basics: Walk) -> None:
    assert ["five-items", "planned-meeting"] == [
        line.split()[0] for line in basics("explain", "naive").stdout.splitlines()
    ]
