"""Google ADK: evaluation sets, test files, conversation scenarios, sessions and evaluation results."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.scenarios import case_id, talk_fields
from harness.traces.foreign_json import Record, kind_of
from harness.traces.formats.found import Found, FoundRun, Importer, Source, since, task_id, wall_ns
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep, TranscriptBuilder
from harness.traces.trajectory import ToolFailure
from harness.traces.usage import usage_in
from harness.values import JsonObject


def turns_of(case: Record) -> list[JsonObject]:
    """Every invocation with the user's message, the expected calls and the answer."""
    return [_turn(invocation) for invocation in case.records("conversation")]


def spoken(content_holder: Record) -> str | None:
    """The visible text of an event, or of another record with `content`."""
    content = content_holder.record("content")
    return None if content is None else text_in(parts_of(content))


def parts_of(content: Record) -> list[Record]:
    return content.records("parts")


def text_in(parts: Sequence[Record], *, thoughts: bool = False) -> str | None:
    """The texts of parts, the model's thoughts apart."""
    texts = [part.text("text") or "" for part in parts if bool(part.flag("thought")) is thoughts]
    return "\n".join(text for text in texts if text) or None


def calls_in(parts: Sequence[Record]) -> list[Record]:
    """The function calls among parts."""
    found = (part.record("function_call", "functionCall") for part in parts)
    return [call for call in found if call is not None]


def responses_in(parts: Sequence[Record]) -> list[Record]:
    """The functions' responses among parts."""
    found = (part.record("function_response", "functionResponse") for part in parts)
    return [response for response in found if response is not None]


def _turn(invocation: Record) -> JsonObject:
    user = invocation.record("user_content", "userContent")
    final = invocation.record("final_response", "finalResponse")
    between = invocation.record("intermediate_data", "intermediateData")
    turn: JsonObject = {
        "user": text_in(parts_of(user)) if user else None,
        "response": text_in(parts_of(final)) if final else None,
        "calls": _calls(between),
        "intermediate": _responses(between),
    }
    rubrics = invocation.value("rubrics")
    return turn if rubrics is None else {**turn, "rubrics": rubrics}


def _calls(between: Record | None) -> list[JsonValue]:
    if between is None:
        return []
    uses = between.records("tool_uses", "toolUses")
    for event in between.records("invocation_events", "invocationEvents"):
        content = event.record("content")
        uses += calls_in(parts_of(content)) if content else []
    return [{"tool": use.tool(), "arguments": use.fields("args")} for use in uses]


def _responses(between: Record | None) -> list[JsonValue]:
    """Intermediate messages of sub-agents: pairs of author and parts, or events."""
    if between is None:
        return []
    responses: list[JsonValue] = []
    for index, pair in enumerate(between.items("intermediate_responses", "intermediateResponses")):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], list):
            raise between.refusal(f"intermediate_responses.{index}", "is not a pair of an author and parts")
        parts = [between.within(f"intermediate_responses.{index}.1.{n}", part) for n, part in enumerate(pair[1])]
        responses.append({"author": pair[0], "text": text_in(parts)})
    for event in between.records("invocation_events", "invocationEvents"):
        text = spoken(event)
        if text is not None:
            responses.append({"author": event.text("author"), "text": text})
    return responses


# An ADK session as a trial: events are steps, and the author of an event is the agent of its step.


def session_found(source: Source, session: Record, case: Case, reward: float | None = None) -> Found:
    """The session as an attempt at `case`."""
    name = f"session {session.identifier('id') or case.id}"
    events = [event for event in session.records("events") if not event.flag("partial")]
    began = next((time for event in events if (time := wall_ns(event.value("timestamp"))) is not None), None)
    main = session.text("app_name", "appName") or "agent"
    transcript = source.transcript(name)
    for event in events:
        _add(transcript, event, began)
    return Found(
        case=case,
        record=name,
        run=FoundRun(steps=transcript.steps(), agent=main, reward=reward, started_ns=began),
    )


def _add(transcript: TranscriptBuilder, event: Record, began: int | None) -> None:
    content = event.record("content")
    parts = parts_of(content) if content else []
    for response in responses_in(parts):
        transcript.result(_foreign_result(response))
    author = event.text("author")
    now = wall_ns(event.value("timestamp"))
    started = since(began, now)
    if author == "user":
        if spoken(event) is not None:
            transcript.add(ForeignStep(source="user", message=spoken(event), started_ns=started))
        return
    thought, calls = text_in(parts, thoughts=True), calls_in(parts)
    if spoken(event) is None and thought is None and not calls:
        return  # a result alone, or an event that only changes the session's state
    transcript.add(
        ForeignStep(
            source="agent",
            agent=author,
            message=spoken(event),
            thought=thought,
            calls=tuple(_foreign_call(call) for call in calls),
            model=event.text("model_version", "modelVersion"),
            usage=usage_in(event.fields("usage_metadata", "usageMetadata"), cache_beside=False).of_step(),
            started_ns=started,
        )
    )


def _foreign_call(call: Record) -> ForeignCall:
    return ForeignCall(id=call.identifier("id"), name=call.tool(), arguments=call.value("args"))


def _foreign_result(response: Record) -> ForeignResult:
    content: JsonValue = response.value("response")
    failure = content.get("error") if isinstance(content, dict) else None
    failed = isinstance(failure, str) and bool(failure)
    return ForeignResult(
        call_id=response.identifier("id"),
        name=response.text("name"),
        content=content,
        error=ToolFailure(type="tool_error", message=str(failure)[:500]) if failed else None,
    )


# An evaluation set contains tasks and expectations, so that it gives cases without trials; a session, and the session
# in an evaluation's result, is a trial. Of a conversation the opening message is the case's task; all turns with what
# is expected of them are in `expected.turns`. Field names are read in camelCase and snake_case alike.


def read(source: Source) -> Iterator[Found]:
    """Every case, session or result of the file."""
    document = source.document()
    if isinstance(document, list):
        yield from _list(source, document)
        return
    yield from _cases_in_object(source, source.whole(document))


def _cases_in_object(source: Source, whole: Record) -> Iterator[Found]:
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
        yield from (_eval_case(source, case) for case in whole.records("eval_cases", "evalCases"))
    else:
        yield _eval_case(source, whole)


IMPORTER = Importer(patterns=("*.json",), read=read)


def _list(source: Source, document: list[JsonValue]) -> Iterator[Found]:
    """The older schema: a test file is a list of turns, an evalset a list of named conversations of them."""
    place = Record(path=source.path, data={})
    items = [place.within(str(index), value) for index, value in enumerate(document)]
    if items and all(item.value("query") is not None for item in items):
        yield _case_of_older_form(source, _stem(source), items, place)
        return
    for item in items:
        if item.value("data") is not None:
            name = item.text("name") or _stem(source)
            yield _case_of_older_form(source, name, item.records("data"), item.record("initial_session") or place)
        else:
            yield _eval_case(source, item)


def _case_of_older_form(source: Source, name: str, turns: list[Record], session: Record) -> Found:
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


def _eval_case(source: Source, case: Record) -> Found:
    name = case.identifier("eval_id", "evalId")
    if name is None:
        raise case.refusal("evalId", "is missing: neither an evaluation set nor a case of one")
    session = case.record("session_input", "sessionInput") or Record(path=source.path, data={})
    scenario = case.record("conversation_scenario", "conversationScenario")
    if scenario is not None:
        return _scenario(source, scenario, session, name, case)
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
        {"user_profile": _state(session), "expected": expected, "tags": _tags(session)},
    )


_EXPECTED = {"rubrics": ("rubrics",), "final_session_state": ("final_session_state", "finalSessionState")}


def _scenario(source: Source, scenario: Record, session: Record, name: str, case: Record | None = None) -> Found:
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
    task = next((spoken(event) for event in session.records("events") if event.value("author") == "user"), None)
    name = session.identifier("id") or task_id(task)
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
    """The application that a case is for, if it says so: app name and user are often left out."""
    app = session.text("app_name", "appName")
    return [f"app:{app}"] if app else []


def _older_call(use: Record) -> JsonObject:
    return {"tool": use.tool("tool_name"), "arguments": use.fields("tool_input")}


def _id_of(call: JsonValue) -> JsonValue:
    return call["id"] if isinstance(call, dict) else None


def _stem(source: Source) -> str:
    return source.path.name.split(".")[0]
