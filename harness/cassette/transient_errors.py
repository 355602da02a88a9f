"""Which answers are about the moment and not about what was asked: kept on a cassette they would make an accident last.

Tools and web hosts   408, 425, 429, 502, 503 and 504. A 500 or a 409 is what the service makes of the call, and an
                      agent that gets one must cope with it in a replay too.
Models                these, 409 (the provider's own locks) and every 5xx: no failure of a provider says anything of the
                      request.
"""

from typing import Final

_TRANSIENT: Final = frozenset({408, 425, 429, 502, 503, 504})
_OF_MODELS: Final = _TRANSIENT | {409}


def is_transient(status: int) -> bool:
    """Whether a tool or a web host told of the moment; such an answer is given to the agent and not recorded."""
    return status in _TRANSIENT


def is_transient_of_model(status: int) -> bool:
    """Whether a provider of models told of the moment."""
    return status in _OF_MODELS or status >= 500
