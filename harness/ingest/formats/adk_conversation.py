"""Turns of an ADK evaluation case, and the parts that all of ADK's content is made of."""

from collections.abc import Sequence

from harness.ingest.reading import Record
from harness.values import JsonObject, JsonValue


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


def tool_of(call: Record) -> str:
    name = call.text("name")
    if name is None:
        raise call.refusal("name", "is missing: every call names a tool")
    return name


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
    return [{"tool": tool_of(use), "arguments": _arguments(use)} for use in uses]


def _arguments(use: Record) -> JsonObject:
    arguments = use.record("args")
    return {} if arguments is None else arguments.data


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
