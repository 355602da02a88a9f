"""Classifies transient errors, which depend on the moment and not on the request: a cassette would make them permanent.

Tools and web hosts   408, 425, 429, 502, 503 and 504. A 500 or a 409 is the service's answer to the call, and an
                      agent that gets one must cope with it in a replay too.
Models                these, 409 (the provider's own locks) and every 5xx: no failure of a provider depends on the
                      request.
"""

from typing import Final

_TRANSIENT: Final = frozenset({408, 425, 429, 502, 503, 504})
_OF_MODELS: Final = _TRANSIENT | {409}


def is_transient(status: int) -> bool:
    """Whether the status of a tool or a web host is a transient error; the agent receives such an answer, but it is not
    recorded.
    """
    return status in _TRANSIENT


def is_transient_of_model(status: int) -> bool:
    """Whether the status of a model provider is a transient error."""
    return status in _OF_MODELS or status >= 500
