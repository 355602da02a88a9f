"""Reads Google ADK's conversation scenarios, unchanged, as cases.

    {"evalId": ..., "conversationScenario": {"startingPrompt": ..., "conversationPlan": ...},
     "sessionInput": {"appName": ..., "userId": ..., "state": {"max_turns": 6, "__tool_fixture_pack_names": [...]}}}

App and user may be absent, names are camelCase or snake_case, and other fields are kept for the export. The starting
prompt is said word for word; a simulated user pursues the plan as `userPersona`, which is one of ADK's ids or a persona
in full. A scripted user sends the starting prompt only, and the report states that the plan was not followed.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from harness.suite.documents import Document
from harness.values import JsonObject

# Foreign names as ids of cases, the same every time and never two for one.

_CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def case_id(text: str) -> str:
    """`text` if it is a valid case id; else its readable part with digits that distinguish it from similar ones."""
    if _CASE.fullmatch(text):
        return text
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:60] or "case"
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


MAX_TURNS = "max_turns"
PACKS = "__tool_fixture_pack_names"
OWN = "harness"
"""The member of an EvalCase that holds further fields of the case; ADK keeps members that it does not know."""


def cases_in(document: Any) -> Any:
    """The cases of a case file: scenarios are converted into cases, other content is returned unchanged.

    A scenario file is one scenario, a list of them, or an evaluation set with `evalCases`.
    """
    if isinstance(document, Mapping):
        listed = _either(document, "evalCases", "eval_cases")
        document = listed if isinstance(listed, list) else [document] if is_scenario(document) else document
    if not isinstance(document, list):
        return document
    return [with_own_fields(scenario_case(item), item) if is_scenario(item) else item for item in document]


def refuse_recorded(source: Document) -> None:
    """Raises InvalidDocument for ADK's other kind of case, which has the turns of one conversation and no plan."""
    whole = source.data if isinstance(source.data, Mapping) else {}
    key = next((name for name in ("evalCases", "eval_cases") if isinstance(whole.get(name), list)), None)
    listed = source.data if key is None else whole[key]
    at: tuple[int | str, ...] = () if key is None else (key,)
    places = enumerate(listed) if isinstance(listed, list) else ((None, listed),)
    for index, item in places:
        if not isinstance(item, Mapping) or is_scenario(item):
            continue
        turns = next((item[name] for name in ("conversation", "data") if isinstance(item.get(name), list)), [item])
        is_old = any(isinstance(turn, Mapping) and {"query", "expected_tool_use"} <= turn.keys() for turn in turns)
        if is_old or isinstance(item.get("conversation"), list):
            source.refuse(
                *at,
                *(() if index is None else (index,)),
                problem="has the turns of a conversation that was had, from which no user can be simulated",
                remedy=f"`harness import adk {source.path.name}` reads it; a scenario has `conversationScenario`",
            )


def is_scenario(item: Any) -> bool:
    """Whether a case is written as ADK writes its scenarios."""
    return isinstance(item, Mapping) and isinstance(
        _either(item, "conversationScenario", "conversation_scenario"), Mapping
    )


def scenario_case(item: Mapping[str, Any]) -> JsonObject:
    """The fields of a case; what is missing or malformed is left for the case's own checks to refuse."""
    scenario = _either(item, "conversationScenario", "conversation_scenario") or {}
    session = _either(item, "sessionInput", "session_input")
    session = session if isinstance(session, Mapping) else {}
    state = session.get("state")
    name = _either(item, "evalId", "eval_id")
    app = _either(session, "appName", "app_name")
    return {
        **({} if name is None else {"id": case_id(str(name))}),
        **talk_fields(
            _either(scenario, "startingPrompt", "starting_prompt"),
            _either(scenario, "conversationPlan", "conversation_plan"),
            state if isinstance(state, Mapping) else {},
            _either(scenario, "userPersona", "user_persona"),
        ),
        "tags": [f"app:{app}"] if app else [],
    }


def with_own_fields(case: JsonObject, item: Mapping[str, Any]) -> JsonObject:
    """The case with the fields of the member `harness`, which ADK ignores: checks, expectations, a scripted user."""
    own = item.get(OWN)
    if not isinstance(own, Mapping):
        return case if own is None else {**case, OWN: own}
    talk, tags = own.get("conversation"), own.get("tags")
    merged = {**case, **own}
    if isinstance(talk, Mapping) and isinstance(case["conversation"], Mapping):
        merged["conversation"] = {**case["conversation"], **talk}
    if isinstance(tags, list) and isinstance(case["tags"], list):
        merged["tags"] = [*case["tags"], *tags]
    return merged


def talk_fields(opening: Any, plan: Any, state: Mapping[str, Any], persona: Any = None) -> JsonObject:
    """Task, conversation, fixture packs and user profile, out of a scenario's texts and its session's state."""
    profile = {name: value for name, value in state.items() if name not in {MAX_TURNS, PACKS}}
    turns = {} if state.get(MAX_TURNS) is None else {"max_turns": state[MAX_TURNS]}
    packs = state.get(PACKS)
    fixtures = [packs] if isinstance(packs, str) else list(packs or ())
    return {
        **({} if opening is None else {"task": opening}),
        "conversation": {
            "plan": plan,
            **turns,
            **({} if persona is None else {"persona": persona}),
        },
        "fixtures": fixtures,
        "user_profile": profile or None,
    }


def _either(item: Mapping[str, Any], *names: str) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)
