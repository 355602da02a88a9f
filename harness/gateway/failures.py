"""The form in which the agent receives a failed call: a status, and JSON that describes the problem."""

import json
from dataclasses import dataclass, field

from harness.trace import ToolErrorType
from harness.values import JsonObject, JsonValue

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
    """A call that failed. Where `status` is None, the default status of the type applies."""

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
