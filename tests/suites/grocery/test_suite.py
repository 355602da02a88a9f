"""The suite as it is declared, and its recordings replayed."""

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

from harness.runs.store.folder import RunFolder
from harness.suite.suites import Suite
from tests.cli.starting import run_command
from tests.suites.grocery.conftest import PROJECT, SUITE


def test_fifty_scenarios_of_adk_cover_what_shoppers_do(suite: Suite):
    assert len(suite.cases) == 50
    assert set(Counter(case.category for case in suite.cases)) == {
        "reorder",
        "recipe",
        "budget",
        "dietary",
        "substitution",
        "revision",
        "unavailable",
        "stores",
        "ambiguous",
        "impatient",
        "wavering",
    }
    (reorder,) = [case for case in suite.cases if case.id == "mt-reorder"]
    assert reorder.fixtures == ("reorder_history_v1",)


def test_every_scenario_expects_a_cart_and_names_who_should_act(suite: Suite):
    for case in suite.cases:
        assert isinstance(case.expected, dict), case.id
        assert case.routes[0].when == 1, case.id
        assert case.conversation is not None
        assert case.conversation.plan is not None
        said = {turn.say for turn in case.conversation.turns}
        assert {route.when for route in case.routes[1:]} <= said, case.id


def test_every_scenario_has_a_checklist_and_states_it_as_adk_does(suite: Suite):
    rubric = yaml.safe_load((SUITE / "rubrics" / "scenario.yaml").read_text())
    file = json.loads((SUITE / "scenarios" / "shopping.evalset.json").read_text())
    stated = {
        one["evalId"]: [each["rubricContent"]["textProperty"] for each in one["rubrics"]] for one in file["eval_cases"]
    }
    assert stated == rubric["checklists"]
    assert stated.keys() == {case.id for case in suite.cases}


def test_every_scenario_has_its_recording(suite: Suite):
    recorded = {path.stem for path in (PROJECT / "cassettes" / "grocery").glob("*.yaml")}
    assert recorded == {case.id for case in suite.cases}


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_a_model_user_plays_every_scenario_from_its_recording(project: Path):
    words = ("run", "grocery", "--user", "model", "--sandbox", "docker-warm", "--run-name", "played")
    done = run_command(*words, folder=project, timeout_s=500)
    stored = list(RunFolder.open(project / "runs" / "played").trials())
    assert len(stored) == 50, f"{done.stdout}\n{done.stderr}"
    assert {one.trial.outcome for one in stored} == {"finished"}
    assert all(one.trial.user is not None and one.trial.user.generated for one in stored)
    failed = {card.case_id for card in RunFolder.open(project / "runs" / "played").scorecards() if not card.success}
    # The shopper's model of rules fails two of them with scripted users too; the third reaches its turn limit.
    assert failed == {"amb-wine", "wavering-dinner", "budget-snacks"}


def test_the_hasty_version_lacks_four_sentences_and_nothing_else():
    folder = SUITE / "agents" / "shopper"
    for path in sorted((folder / "prompts").glob("*.md")):
        right, hasty = path.read_text().splitlines(), (folder / "prompts_hasty" / path.name).read_text().splitlines()
        assert set(hasty) <= set(right)
        assert len(right) - len(hasty) == (4 if path.stem == "orchestrator" else 0)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_two_replays_give_equal_scorecards(project: Path):
    cases = [word for case in ("mt-reorder", "amb-milk", "rev-wine", "amb-wine") for word in ("--case", case)]
    found = []
    for name in ("first", "second"):
        words = ("run", "grocery", "--trials", "2", "--sandbox", "docker-warm", "--run-name", name, *cases)
        done = run_command(*words, folder=project, timeout_s=500)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        cards = sorted(
            RunFolder.open(project / "runs" / name).scorecards(), key=lambda card: (card.case_id, card.attempt)
        )
        found.append([card.model_dump_json() for card in cards])
        assert [card.success for card in cards] == [True] * 2 + [False] * 2 + [True] * 4
    assert found[0] == found[1]
