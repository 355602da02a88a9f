"""Google ADK's scenarios: loaded, and followed."""

import json
from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file
from harness.suite.cases import Case
from harness.suite.conversations import Persona
from tests.suite.test_scenarios import loaded

PERSONA = {
    "id": "WAVERING",
    "description": "Changes their mind.",
    "behaviors": [
        {
            "name": "wavers",
            "description": "Takes things back.",
            "behavior_instructions": ["Ask for one more thing."],
            "violation_rubrics": ["The user never changes their mind."],
        }
    ],
}


def scenario(persona: object, **own: object) -> dict[str, object]:
    return {
        "evalId": "one",
        "conversationScenario": {
            "startingPrompt": "The usual.",
            "conversationPlan": "Take it.",
            "userPersona": persona,
        },
        "sessionInput": {"appName": "shop", "userId": "u", "state": {"max_turns": 6, "name": "Ann"}},
        "somethingElse": [1, {"b": 2}],
        **own,
    }


def persona_of(case: Case) -> Persona:
    assert case.conversation is not None
    assert isinstance(case.conversation.persona, Persona)
    return case.conversation.persona


@pytest.mark.parametrize("name", ["EXPERT", "NOVICE", "EVALUATOR"])
def test_a_built_in_persona_is_found_by_its_id(tmp_path: Path, name: str) -> None:
    [case] = loaded(tmp_path, [scenario(name)])
    persona = persona_of(case)
    assert (name, True) == (persona.id, bool(persona.instructions))


def test_a_persona_in_full_keeps_its_rubrics(tmp_path: Path) -> None:
    [case] = loaded(tmp_path, [scenario(PERSONA)])
    trait = persona_of(case).behaviours[0]
    assert (("Ask for one more thing.",), ("The user never changes their mind.",)) == (
        trait.instructions,
        trait.violation_rubrics,
    )


def test_a_persona_is_a_file_of_the_suite_too(tmp_path: Path) -> None:
    folder = tmp_path / "suites" / "s" / "personas"
    folder.mkdir(parents=True)
    (folder / "hasty.yaml").write_text("id: hasty\nbehaviours: [{name: short, instructions: [Write few words.]}]\n")
    [case] = loaded(tmp_path, [scenario("hasty")])
    assert ("Write few words.",) == persona_of(case).instructions


def test_a_persona_that_does_not_exist_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match=r"persona 'NOBODY'.*") as refused:
        loaded(tmp_path, [scenario("NOBODY")])
    assert "a.scenarios.json" in str(refused.value)
    assert "EXPERT" in str(refused.value)


def test_what_is_wrong_inside_of_a_persona_is_named_where_it_stands(tmp_path: Path) -> None:
    persona = {"id": "calm", "behaviours": [{"name": "waits", "violationRubrics": [{"text": "The user shouts."}]}]}
    with pytest.raises(InvalidDocument) as refused:
        loaded(tmp_path, [scenario(persona)])
    assert "behaviours.0.violationRubrics.0" in str(refused.value.field)


@pytest.mark.slow
def test_all_evaluation_sets_at_hand_load(real_data: Path) -> None:
    files = sorted((real_data / "adk_evalsets").rglob("*.json"))
    assert 42 == len(files)
    for path in files:
        raw = json.loads(path.read_text())
        if isinstance(raw, dict) and "criteria" in raw:
            continue  # the configuration of an evaluation: it holds no case
        assert import_file("adk", path).suite.cases, path
