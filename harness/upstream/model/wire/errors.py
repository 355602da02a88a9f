"""The gateway's own errors in each provider's format, so that the agent's client shows the message."""

import json
from typing import Final

from harness.case import Provider
from harness.values import JsonObject

_GOOGLE: Final = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    424: "FAILED_PRECONDITION",
    504: "DEADLINE_EXCEEDED",
}


def error_in_format(provider: Provider, status: int, kind: str, message: str) -> bytes:
    """`kind` is the harness's own error code; formats with a closed list of codes contain it in the message."""
    body: JsonObject
    match provider:
        case "anthropic":
            body = {"type": "error", "error": {"type": kind, "message": message}}
        case "gemini":
            detail: JsonObject = {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": kind,
                "domain": "harness",
            }
            word = _GOOGLE.get(status, "UNKNOWN")
            body = {"error": {"code": status, "message": message, "status": word, "details": [detail]}}
        case "openai" | "azure":
            body = {"error": {"message": message, "type": kind, "param": None, "code": kind}}
    return json.dumps(body).encode()
