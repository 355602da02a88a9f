"""A request that the service understands and does not grant."""

from typing import Any


class Refusal(Exception):
    """Becomes the answer's status and error object."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"code": code, "message": message, **details}


def invalid(field: str, problem: str) -> Refusal:
    """The refusal of a malformed field."""
    return Refusal(422, "invalid_request", f"{field} {problem}", field=field)
