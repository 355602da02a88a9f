"""Google ADK: evaluation sets of both schemas, test files, conversation scenarios, sessions and evaluation results.

An evaluation set contains tasks and expectations, so that it gives cases without trials; a session, and the
session in an evaluation's result, is a trial. Of a conversation the opening message is the case's task; all turns
with what is expected of them stand in `expected.turns`. Field names are read in camelCase and snake_case alike.
"""

from collections.abc import Iterator

from harness.case import Case, talk_fields
from harness.ingest.formats.adk_conversation import spoken, turns_of
from harness.ingest.formats.adk_session import session_found
from harness.ingest.found import Found, Importer, Source
from harness.ingest.naming import case_id
from harness.ingest.reading import Record, kind_of
from harness.values import JsonObject, JsonValue


def read(source: Source) -> Iterator[Found]:
    """Every case, session or result of the file."""
    document = source.document()
    if isinstance(document, list):
        yield from _list(source, document)
        return
    yield from _object(source, source.whole(document))


def _object(source: Source, whole: Record) -> Iterator[Found]:
    if whole.value("criteria") is not None:
        source.note(None, "an evaluation's configuration tells of no case; it is passed over")
    elif whole.value("eval_case_results", "evalCaseResults") is not None:
        yield from _results(source, whole)
    elif whole.value("events") is not None:
        yield session_found(source, whole, _session_case(source, whole))
    elif whole.value("scenarios") is not None:
        for index, scenario in enumerate(whole.records("scenarios")):
            yield _scenario(source, scenario, Record(path=source.path, data={}), f"{_stem(source)}-{index}")
    elif whole.value("eval_cases", "evalCases") is not None:
        shared = {name: value for name, value in whole.data.items() if name not in ("eval_cases", "evalCases")}
        yield from (_eval_case(source, case, shared) for case in whole.records("eval_cases", "evalCases"))
    else:
        yield _eval_case(source, whole)


IMPORTER = Importer(patterns=("*.json",), read=read)


def _list(source: Source, document: list[JsonValue]) -> Iterator[Found]:
    """The older schema: a test file is a list of turns, an evalset a list of named conversations of them."""
    place = Record(path=source.path, data={})
    items = [place.within(str(index), value) for index, value in enumerate(document)]
    if items and all(item.value("query") is not None for item in items):
        yield _older(source, _stem(source), items, place)
        return
    for item in items:
        if item.value("data") is not None:
            name = item.text("name") or _stem(source)
            yield _older(source, name, item.records("data"), item.record("initial_session") or place)
        else:
            yield _eval_case(source, item)


def _older(source: Source, name: str, turns: list[Record], session: Record) -> Found:
    contents: list[JsonObject] = []
    for turn in turns:
        query = turn.text("query")
        if query is None:
            raise turn.refusal("query", "is missing")
        contents.append(
            {
                "user": query,
                "response": turn.text("reference"),
                "calls": [_older_call(use) for use in turn.records("expected_tool_use")],
                "intermediate": turn.items("expected_intermediate_agent_responses"),
            }
        )
    return _conversation(source, name, contents, {"user_profile": _state(session)})


def _eval_case(source: Source, case: Record, eval_set: JsonObject | None = None) -> Found:
    name = case.identifier("eval_id", "evalId")
    if name is None:
        raise case.refusal("evalId", "is missing: neither an evaluation set nor a case of one")
    session = case.record("session_input", "sessionInput") or Record(path=source.path, data={})
    scenario = case.record("conversation_scenario", "conversationScenario")
    adk: JsonObject = {"case": case.data, "eval_set": eval_set or {}}
    if scenario is not None:
        return _scenario(source, scenario, session, name, case, adk)
    if case.value("conversation") is None:
        raise case.refusal("conversation", f"is {kind_of(None)}, and there is no conversationScenario")
    expected: JsonObject = {}
    for key, names in _EXPECTED.items():
        if case.value(*names) is not None:
            expected[key] = case.value(*names)
    return _conversation(
        source,
        name,
        turns_of(case),
        {"user_profile": _state(session), "expected": expected, "tags": _tags(session), "adk": adk},
    )


_EXPECTED = {"rubrics": ("rubrics",), "final_session_state": ("final_session_state", "finalSessionState")}


def _scenario(
    source: Source,
    scenario: Record,
    session: Record,
    name: str,
    case: Record | None = None,
    adk: JsonObject | None = None,
) -> Found:
    expected: JsonObject = {
        "conversation_plan": scenario.text("conversation_plan", "conversationPlan"),
        "user_persona": scenario.value("user_persona", "userPersona"),
        "rubrics": case.value("rubrics") if case else None,
    }
    fields: JsonObject = {
        "id": case_id(name),
        "task": scenario.text("starting_prompt", "startingPrompt"),
        **talk_fields(
            scenario.text("starting_prompt", "startingPrompt"),
            scenario.text("conversation_plan", "conversationPlan"),
            _state_of(session),
            scenario.value("user_persona", "userPersona"),
        ),
        "adk": adk,
        "expected": {key: value for key, value in expected.items() if value is not None},
        "tags": _tags(session),
        "origin": f"{source.path.name} {name}",
    }
    return Found(case=source.case(name, fields), record=name)


def _conversation(source: Source, name: str, turns: list[JsonObject], fields: JsonObject) -> Found:
    expected = fields.get("expected")
    reference: list[JsonValue] = []
    for number, turn in enumerate(turns, start=1):
        calls = turn.get("calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):  # ADK compares calls in their order, so each comes after the one before
                after: list[JsonValue] = [_id_of(reference[-1])] if reference else []
                identity = f"t{number}-{len(reference)}"
                reference.append({"id": identity, "tool": call["tool"], "arguments": call["arguments"], "after": after})
    case = source.case(
        name,
        {
            **fields,
            "id": case_id(name),
            "task": turns[0].get("user") if turns else None,
            "reference": reference,
            "expected_output": turns[-1].get("response") if turns else None,
            "expected": {**(expected if isinstance(expected, dict) else {}), "turns": list(turns)},
            "origin": f"{source.path.name} {name}",
        },
    )
    return Found(case=case, record=name)


def _results(source: Source, document: Record) -> Iterator[Found]:
    for result in document.records("eval_case_results", "evalCaseResults"):
        name = result.identifier("eval_id", "evalId")
        if name is None:
            raise result.refusal("eval_id", "is missing")
        session = result.record("session_details", "sessionDetails")
        if session is None:
            source.note(name, "a result holds no session, so there is no trial of it")
            continue
        task = next((spoken(event) for event in session.records("events") if event.value("author") == "user"), None)
        case = source.case(name, {"id": case_id(name), "task": task, "origin": f"{source.path.name} {name}"})
        # 1 is passed and 2 failed; anything else was not evaluated.
        reward = {1: 1.0, 2: 0.0, "PASSED": 1.0, "FAILED": 0.0}.get(_status(result))
        yield session_found(source, session, case, reward)


def _status(result: Record) -> int | str | None:
    status = result.value("final_eval_status", "finalEvalStatus")
    return status if isinstance(status, int | str) else None


def _session_case(source: Source, session: Record) -> Case:
    name = session.identifier("id") or _stem(source)
    task = next((spoken(event) for event in session.records("events") if event.value("author") == "user"), None)
    state = session.record("state")
    fields: JsonObject = {
        "id": case_id(name),
        "task": task,
        "user_profile": state.data if state and state.data else None,
    }
    return source.case(name, fields)


def _state_of(session: Record) -> JsonObject:
    state = session.record("state")
    return {} if state is None else dict(state.data)


def _state(session: Record) -> JsonValue:
    state = session.record("state")
    return state.data if state is not None and state.data else None


def _tags(session: Record) -> list[JsonValue]:
    """The application that a case is for, where it says so: app name and user are often left out."""
    app = session.text("app_name", "appName")
    return [f"app:{app}"] if app else []


def _older_call(use: Record) -> JsonObject:
    name, arguments = use.text("tool_name"), use.record("tool_input")
    if name is None:
        raise use.refusal("tool_name", "is missing")
    return {"tool": name, "arguments": arguments.data if arguments else {}}


def _id_of(call: JsonValue) -> JsonValue:
    return call["id"] if isinstance(call, dict) else None


def _stem(source: Source) -> str:
    return source.path.name.split(".")[0]
