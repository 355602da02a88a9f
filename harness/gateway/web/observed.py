"""What an agent received of a host's answer, as a step's observation."""

import hashlib
from http import HTTPStatus

from harness.case import HostSpec
from harness.gateway.failures import CallFailure
from harness.strict_json import NotJson, parse_json
from harness.upstream import MAX_ANSWER_BYTES, ToolAnswer
from harness.values import JsonObject, JsonValue

_SHOWN_BYTES = 262_144
_BEGINNING = 1000
_UNREADABLE = "something that is not HTTP, or an encoding or a part of a body that it was not asked for"


def content_of(answer: ToolAnswer) -> JsonValue:
    """Status and body: JSON as a value, text as text; other or too long bodies as type, size and digest."""
    attributes: JsonObject = {"status": answer.status}
    if "location" in answer.headers:
        attributes["location"] = answer.headers["location"]
    return attributes | ({"body": _shown(answer.body)} if answer.body else {})


def failure_of(host: HostSpec, answer: ToolAnswer) -> CallFailure | None:
    """Why the answer is a failed call; the message depends on the answer only, so that live and replayed requests
    agree.
    """
    name = host.host
    match answer.outcome:
        case "timeout":
            return CallFailure(type="timeout", message=f"{name} gave no answer within {host.timeout_s:g} s")
        case "reset":
            how = "before it had answered" if answer.status == 0 else "in the middle of its answer"
            return CallFailure(type="reset", message=f"{name} closed the connection {how}")
        case "unreachable":
            return CallFailure(type="tool_unavailable", message=f"{name} cannot be reached")
        case "oversized":
            return CallFailure(type="malformed_result", message=f"{name} answered more than {MAX_ANSWER_BYTES} bytes")
        case "garbled":
            return CallFailure(type="malformed_result", message=f"{name} answered {_UNREADABLE}")
        case "answer":
            return _refused(name, answer)


def _refused(name: str, answer: ToolAnswer) -> CallFailure | None:
    match answer.status // 100:
        case 4:
            message = f"{name} refused the request: {answer.status} {_phrase(answer.status)}".rstrip()
            return CallFailure(type="tool_error", message=message, status=answer.status)
        case 5:
            return CallFailure(type="tool_unavailable", message=f"{name} failed with status {answer.status}")
        case _:
            return None


def _shown(body: bytes) -> JsonValue:
    if len(body) > _SHOWN_BYTES:
        return {"bytes": len(body), "sha256": _sha256(body), "beginning": body[:_BEGINNING].decode("utf-8", "replace")}
    try:
        return parse_json(body)
    except NotJson:
        pass
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": len(body), "sha256": _sha256(body)}


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
