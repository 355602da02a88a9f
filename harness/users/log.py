"""A logged conversation: what a user said, and what an agent did in between; from a trial, or from a file.

turns:
  - user: A small coffee, please.
    calls: [{name: add_item, arguments: {item: coffee, size: small}, effect: write}]
    agent: Anything else?
  - user: No, thanks.
    agent: Goodbye.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from harness.errors import InvalidDocument
from harness.gateway.user import HeardCall
from harness.suite.documents import read_plain, shaped
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Trajectory
from harness.values import Frozen


class LoggedTurn(Frozen):
    """One message of the user, and what the agent did before the next one."""

    user: str
    """The message."""
    calls: tuple[HeardCall, ...] = ()
    """The agent's calls, in order."""
    agent: str = ""
    """What the agent said; several messages are joined by empty lines."""


class UserLog(Frozen):
    """A conversation that a user can be played back from."""

    turns: tuple[LoggedTurn, ...] = Field(min_length=1)
    """In order; the first is the opening."""
    source: str = ""
    """Where it was taken from, for reports."""


def read_user_log(path: Path) -> UserLog:
    """The conversation in a YAML or JSON file. Raises InvalidDocument with file, line and field."""
    data, lines = read_plain(path)
    if isinstance(data, dict) and data.get("turns", ()) in ([], None):
        raise InvalidDocument(
            path,
            "has no turns, so that no user can be played back from it",
            line=lines.get(("turns",)),
            field="turns",
            remedy="turns: [{user: a message, agent: the reply}, ...]; or let a model play: `user: {kind: model}`",
        )
    log = shaped(path, data, UserLog, lines)
    for number, turn in enumerate(log.turns):
        if not turn.user.strip():
            line = lines.get(("turns", number, "user"))
            raise InvalidDocument(path, "the user says nothing here", line=line, field=f"turns.{number}.user")
    return log.model_copy(update={"source": log.source or path.name})


def log_of_trajectory(trajectory: Trajectory, tools: Mapping[str, ToolSpec], source: str = "") -> UserLog | None:
    """The conversation of a trial, ours or imported; None if no user speaks in it.

    What the agent said before the user's first message is left out. The effect of a call is that of the suite's tool.
    """
    turns: list[LoggedTurn] = []
    failed = {call_id for call_id, seen in trajectory.observations.items() if seen.error is not None}
    for step in trajectory.steps:
        if step.source == "user":
            if step.message is not None and step.message.strip():
                turns.append(LoggedTurn(user=step.message))
            continue
        if not turns or step.source != "agent":
            continue
        turn = turns[-1]
        calls = tuple(
            HeardCall(
                name=call.name,
                arguments=call.arguments,
                effect=tools[call.name].effect if call.name in tools else "write",
                failed=call.id in failed,
            )
            for call in step.calls
            if call.delegated_to is None
        )
        heard = step.message if step.parent is None else None  # what a sub-agent says, its caller hears
        said = "\n\n".join(text for text in (turn.agent, heard) if text)
        turns[-1] = turn.model_copy(update={"calls": (*turn.calls, *calls), "agent": said})
    return UserLog(turns=tuple(turns), source=source) if turns else None
