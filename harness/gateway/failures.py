"""The form in which the agent receives a failed call: a status, and JSON that describes the problem."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from pydantic import JsonValue

from harness.gateway.upstream.http_tools import MAX_ANSWER_BYTES
from harness.gateway.upstream.sources import ToolAnswer
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import ToolErrorType
from harness.values import JsonObject, NotJson, parse_json

_STATUS: dict[ToolErrorType, int] = {
    "unknown_tool": 404,
    "not_allowed": 403,
    "unparsable_arguments": 400,
    "invalid_arguments": 422,
    "tool_error": 400,
    "tool_unavailable": 502,
    "timeout": 504,
    "reset": 502,
    "malformed_result": 502,
    "replay_miss": 424,
    "limit_reached": 403,
}

_NOT_OF_STATE = frozenset({401, 403, 407, 408, 425, 429})
"""Statuses that are about the harness's own credentials and request rate."""

TOOL_STATUSES: dict[int, tuple[ToolErrorType, ...]] = {
    status: tuple(kind for kind, its in _STATUS.items() if its == status) for status in sorted({*_STATUS.values()})
}
"""What a call can be answered with other than its result."""


@dataclass(frozen=True, kw_only=True)
class CallFailure:
    """A call that failed. If `status` is None, the default status of the type applies."""

    type: ToolErrorType
    message: str
    status: int | None = None
    body: JsonValue = None
    """The text that the tool itself sent; set only for a tool_error."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        return self.status or _STATUS[self.type]

    @property
    def is_of_state(self) -> bool:
        """Whether a probe failed because of the data it was to read: the tool refused it, or its answer is too large.

        Other failures are failures to reach the tool; they say nothing about the state.
        """
        refused = self.type == "tool_error" and self.status not in _NOT_OF_STATE
        return refused or self.type == "malformed_result"

    @property
    def http_headers(self) -> dict[str, str]:
        # Many clients retry these statuses by themselves; a retry of this call would get the same answer.
        retry = {"x-should-retry": "false"} if self.type == "replay_miss" else {}
        return self.headers | retry

    @property
    def content(self) -> JsonObject:
        """The JSON that the agent receives."""
        error: JsonObject = {"type": self.type, "message": self.message}
        if self.type == "tool_error":
            error["body"] = self.body
        return {"error": error}

    def encoded(self) -> bytes:
        return json.dumps(self.content).encode()


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
            return _malformed(tool, answer.body.decode("utf-8", "replace") or "something that is not HTTP")
        case "answer":
            return _result_or_failure(tool, answer)


def _result_or_failure(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    match answer.status // 100:
        case 2:
            return _parsed_result(tool, answer)
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


def _parsed_result(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
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
