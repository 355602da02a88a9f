"""What an import keeps, in a case's `expected`, of the criteria by which a benchmark gave its rewards.

The spellings are tau-bench's (`outputs`) and tau2's (`communicate_info`, `actions`, `reward_basis`).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.values import JsonObject, JsonValue

_STATE: Final = "DB"
"""The part of a reward that compares the state after the run with the state after the reference."""


def to_say(expected: JsonValue) -> Iterator[str]:
    """The texts that the agent must have sent."""
    for name in ("outputs", "communicate_info"):
        criterion = _criteria(expected).get(name)
        yield from (text for text in criterion if isinstance(text, str) and text) if isinstance(criterion, list) else ()


def users_actions(expected: JsonValue) -> list[JsonObject]:
    """The gold actions that are the user's own to do."""
    actions = _criteria(expected).get("actions")
    listed = [one for one in (actions if isinstance(actions, list) else []) if isinstance(one, dict)]
    return [one for one in listed if one.get("requestor") == "user"]


def judged_by_state(expected: JsonValue) -> bool:
    """False where the benchmark declares its criteria, and the state after the reference is not among them."""
    basis = _criteria(expected).get("reward_basis")
    return not (isinstance(basis, list) and basis and _STATE not in basis)


def _criteria(expected: JsonValue) -> Mapping[str, JsonValue]:
    return expected if isinstance(expected, dict) else {}
