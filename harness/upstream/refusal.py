"""A request that is rejected before it is treated as a call or a model request."""


class Refusal(Exception):
    """Ends a request with an error that does not belong to a call."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
