"""Cases as Google ADK's evaluation sets: cases imported from one are written unchanged, others as scenarios."""

from collections.abc import Iterator

from harness.case import Case, Persona, Suite
from harness.values import JsonObject, JsonValue, canonical_json


def export_adk(suite: Suite) -> Iterator[tuple[str, JsonObject]]:
    """Name and content of each evaluation set, in the order of the suite's cases."""
    sets: dict[str, tuple[JsonObject, list[JsonValue]]] = {}
    for case in suite.cases:
        shared = {} if case.adk is None else case.adk.eval_set
        _, cases = sets.setdefault(canonical_json(shared), (shared, []))
        cases.append(_written(case) if case.adk is None else case.adk.case)
    for number, (shared, cases) in enumerate(sets.values()):
        name = shared.get("eval_set_id") or shared.get("evalSetId")
        plain = name if isinstance(name, str) else suite.name if not number else f"{suite.name}-{number + 1}"
        yield plain, {**(shared or {"eval_set_id": plain, "name": plain}), _key(shared): cases}


def _key(shared: JsonObject) -> str:
    """ADK writes the fields of a set in snake_case; a set that has them in camelCase keeps that."""
    return "evalCases" if "evalSetId" in shared else "eval_cases"


def _written(case: Case) -> JsonObject:
    conversation = case.conversation
    scenario: JsonObject = {
        "startingPrompt": case.task,
        "conversationPlan": "" if conversation is None else conversation.plan or "",
    }
    if conversation is not None and isinstance(conversation.persona, Persona):
        scenario["userPersona"] = _persona(conversation.persona)
    state: JsonObject = dict(case.user_profile or {})
    if conversation is not None:
        state["max_turns"] = conversation.max_turns
    if case.fixtures:
        state["__tool_fixture_pack_names"] = list(case.fixtures)
    app = next((tag.removeprefix("app:") for tag in case.tags if tag.startswith("app:")), "app")
    return {
        "evalId": case.id,
        "conversationScenario": scenario,
        "sessionInput": {"appName": app, "userId": "user", "state": state},
    }


def _persona(persona: Persona) -> JsonObject:
    return {
        "id": persona.id,
        "description": persona.description,
        "behaviors": [
            {
                "name": trait.name,
                "description": trait.description,
                "behavior_instructions": list(trait.instructions),
                "violation_rubrics": list(trait.violation_rubrics),
            }
            for trait in persona.behaviours
        ],
    }
