"""A transcript: the pieces of a trajectory, each pointing to where it came from."""

from typing import Literal

from harness.frozen import Frozen

CHARS_PER_TOKEN = 4
"""A rough rule, the same on both sides of every saving that is shown."""

PieceKind = Literal[
    "system", "user", "agent", "narration", "thought", "plan", "call", "result", "profile", "state", "answer"
]
"""`agent`: a message by itself; `narration`: what the agent said beside its calls; `answer`: a final output that was no
message; `state`: what the trial left behind."""


class Piece(Frozen):
    """One thing that was said, done or seen."""

    ref: str
    """`s<step>`, its calls `s<step>.c<n>` and their results `s<step>.r<n>`; what no step has said goes by its name."""
    step: int | None = None
    span: str | None = None
    kind: PieceKind
    agent: str | None = None
    """Which (sub-)agent; None: not an agent's, or not told."""
    tool: str | None = None
    text: str
    trimmed: int = 0
    """Characters that were left out, since nothing later used them."""

    @property
    def who(self) -> str:
        """Who speaks, for the judge and for people."""
        if self.tool is not None:
            return f"tool {self.tool}" if self.kind == "result" else f"{self.agent or 'agent'} calls {self.tool}"
        if self.kind in ("agent", "narration", "answer"):
            return self.agent or "agent"
        if self.kind in ("thought", "plan"):
            return f"{self.agent or 'agent'} ({self.kind})"
        return {"profile": "user profile", "state": "end state"}.get(self.kind, self.kind)


class Transcript(Frozen):
    """One trial, compact."""

    trace_id: str
    agent: str
    """The outermost agent."""
    pieces: tuple[Piece, ...]
    raw_chars: int
    """Length of the trajectory as JSON, which is what a judge would read otherwise."""

    @property
    def chars(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)

    def span_of(self, ref: str) -> str | None:
        """The span that a piece came from, `step:<n>` where the step has none; None: there is no such piece."""
        found = next((piece for piece in self.pieces if piece.ref == ref), None)
        if found is None:
            return None
        return found.span or (ref if found.step is None else f"step:{found.step}")
