"""A transcript: the pieces of a trajectory, each with a reference to its source."""

import json
import re
from typing import Final, Literal

from harness.values import Frozen

CHARS_PER_TOKEN = 4
"""A rough rule, applied equally to both sides of every displayed saving."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/?-]{1,64}")
_LONGEST_NAME: Final = 64

PieceKind = Literal[
    "system",
    "user",
    "reported",
    "agent",
    "narration",
    "thought",
    "plan",
    "call",
    "result",
    "profile",
    "scenario",
    "state",
    "answer",
]
"""`reported`: a message that the agent attributes to another speaker; `agent`: a separate message; `narration`: the
agent's text beside its calls; `answer`: a final output that was not a message; `state`: the state that the trial left;
`scenario`: the plan and the persona of a simulated user.
"""


class Piece(Frozen):
    """One message, action or observation."""

    ref: str
    """`s<step>`, its calls `s<step>.c<n>` and their results `s<step>.r<n>`; a piece without a step has a name
    of its own.
    """
    step: int | None = None
    span: str | None = None
    kind: PieceKind
    agent: str | None = None
    """The name of the (sub-)agent; None where the piece is not an agent's, or where the name is not known."""
    outermost: bool = True
    """Whether `agent` is the agent under test, whose name the suite gives; other names are the agent's own words."""
    tool: str | None = None
    self_reported: bool = False
    """Whether only the agent reports it: the gateway did not observe it."""
    text: str
    trimmed: int = 0
    """The number of omitted characters, which no later step used."""

    @property
    def who(self) -> str:
        """The speaker, for the judge and for people.

        Only the role and the name of the agent under test come from the harness. Every other name is data of the agent:
        it is quoted after its role, so that it cannot be mistaken for another speaker.
        """
        mark = " (self-reported)" if self.self_reported else ""
        if self.tool is not None:
            tool = _tool(self.tool)
            return (f"tool {tool}" if self.kind == "result" else f"{self._agent} calls {tool}") + mark
        if self.kind in ("agent", "narration", "answer"):
            return self._agent
        if self.kind in ("thought", "plan"):
            return f"{self._agent} ({self.kind})"
        named = {
            "profile": "user profile",
            "scenario": "scenario of the user",
            "state": "end state",
            "reported": "message reported by the agent",
        }
        return named.get(self.kind, self.kind)

    @property
    def _agent(self) -> str:
        if self.agent is None:
            return "agent"
        return self.agent if self.outermost else f"agent {_quoted(self.agent)}"


def _tool(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    """At most 64 characters as a JSON string, on one line, in printable ASCII."""
    return json.dumps(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…").replace(
        "\x7f", "\\u007f"
    )


class Transcript(Frozen):
    """One trial in the form that a judge receives: numbered pieces."""

    trace_id: str
    agent: str
    """The outermost agent."""
    pieces: tuple[Piece, ...]
    raw_chars: int
    """Length of the trajectory as JSON, which a judge would read otherwise."""

    @property
    def chars(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)

    def span_of(self, ref: str) -> str | None:
        """The span of a piece, `step:<n>` where the step has none; None where there is no such piece."""
        found = next((piece for piece in self.pieces if piece.ref == ref), None)
        if found is None:
            return None
        return found.span or (ref if found.step is None else f"step:{found.step}")
