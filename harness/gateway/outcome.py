"""What a source's answer means: a result for the agent, or a failure in the closed vocabulary."""

from collections.abc import Mapping
from http import HTTPStatus

from harness.case import ToolSpec
from harness.gateway.failures import CallFailure
from harness.strict_json import NotJson, parse_json
from harness.upstream import MAX_ANSWER_BYTES, ToolAnswer
from harness.values import JsonValue


def result_of(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    """The tool's JSON, or the failure. The message depends on the answer only, so that live and replayed calls
    agree.
    """
    match answer.outcome:
        case "timeout":
            return CallFailure(type="timeout", message=f"{tool.name} gave no answer within {tool.timeout_s:g} s")
        case "reset":
            return CallFailure(type="reset", message=f"{tool.name} closed the connection before it had answered")
        case "unreachable":
            return CallFailure(type="tool_unavailable", message=f"{tool.name} cannot be reached")
        case "oversized":
            return _malformed(tool, f"more than {MAX_ANSWER_BYTES} bytes")
        case "garbled":
            return _malformed(tool, "something that is not HTTP")
        case "answer":
            return _answered(tool, answer)


def _answered(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    match answer.status // 100:
        case 2:
            return _result(tool, answer)
        case 4:
            return CallFailure(
                type="tool_error",
                message=f"{tool.name} refused the call: {answer.status} {_phrase(answer.status)}".rstrip(),
                status=answer.status,
                body=_error_body(answer.body),
                headers=_retry_after(answer.headers),
            )
        case 5:
            return CallFailure(type="tool_unavailable", message=f"{tool.name} failed with status {answer.status}")
        case _:
            return _malformed(tool, f"status {answer.status}, which is no answer of a tool")


def _result(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    if answer.status in {204, 205} and not answer.body:
        return None
    try:
        return parse_json(answer.body)
    except NotJson as error:
        return _malformed(tool, f"something that is not JSON: {error}")


def _malformed(tool: ToolSpec, what: str) -> CallFailure:
    return CallFailure(type="malformed_result", message=f"{tool.name} answered {what}")


def _error_body(body: bytes) -> JsonValue:
    if not body:
        return None
    try:
        return parse_json(body)
    except NotJson:
        return body.decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> dict[str, str]:
    return {"retry-after": headers["retry-after"]} if "retry-after" in headers else {}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
