"""What could not be measured, and by whose doing: the agent's, or not.

A verdict whose `passed` is None carries `{"unmeasured_by": "agent"}` in its evidence where what the agent left is the
reason: a database that cannot be read within the limits, a file larger than is read back.
"""

from typing import Final

from harness.values import JsonObject, JsonValue

MADE_UNMEASURABLE: Final = "failed, because what the agent left cannot be checked"
"""The scorer turns such a verdict into a failure, with this before its reason."""
BY_AGENT: JsonObject = {"unmeasured_by": "agent"}
"""Evidence of a verdict that the agent has made impossible."""


def unmeasurable_state(state: JsonValue) -> str | None:
    """Why a probe could not read what the agent left; None for what it has read."""
    reason = state.get("unmeasurable") if isinstance(state, dict) and len(state) == 1 else None
    return reason if isinstance(reason, str) else None
