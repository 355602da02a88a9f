"""The part of a transcript that one criterion needs, and the criteria that code decides on it."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import ClassVar, Final, Protocol

from harness.errors import UsageError
from harness.judging.transcripts import Piece, PieceKind, Transcript
from harness.values import Frozen

# A selector is a view's name, or `calls:<pattern>`: the calls of tools with matching names, with their results
# (`calls:add_*`). Several selectors together show the pieces of all of them, each once, in order.

_SHOWS: Final = re.compile(r"(?:^|_)(?:show|display|render|present|widget|carousel|card)s?(?:_|$)", re.I)
ORCHESTRATOR: Final = "orchestrator"


def _kinds(*kinds: PieceKind) -> Callable[[Transcript], list[Piece]]:
    wanted = frozenset(kinds)
    return lambda transcript: [piece for piece in transcript.pieces if piece.kind in wanted]


def _final(transcript: Transcript) -> list[Piece]:
    spoken = [piece for piece in transcript.pieces if piece.kind in ("agent", "answer")]
    return [*spoken[-1:], *(piece for piece in transcript.pieces if piece.kind == "state")]


def _widgets(transcript: Transcript) -> list[Piece]:
    return [piece for piece in transcript.pieces if piece.tool is not None and _SHOWS.search(piece.tool)]


def _handover(transcript: Transcript) -> list[Piece]:
    """The pieces on both sides of a change of agent: the last pieces of one agent, and the first of the other."""
    pieces = [piece for piece in transcript.pieces if piece.step is not None and piece.kind != "system"]
    acting = [piece for piece in pieces if piece.agent is not None]
    changes = {
        ref for before, after in pairwise(acting) if before.agent != after.agent for ref in (before.step, after.step)
    }
    return [piece for piece in pieces if piece.step in changes or piece.kind in ("user", "reported")]


VIEWS: Final[dict[str, tuple[str, Callable[[Transcript], list[Piece]]]]] = {
    "conversation": (
        "what user and agent said to each other",
        _kinds("user", "reported", "agent", "narration", "answer"),
    ),
    "request": ("what the user asked for", _kinds("user", "reported")),
    "recommendations": (
        "what the agent offered, in words and in widgets",
        lambda one: _merged(one, [_kinds("agent", "answer")(one), _widgets(one)]),
    ),
    "claims": (
        "what the agent claimed, and the calls and results behind it",
        _kinds("agent", "narration", "answer", "call", "result"),
    ),
    "narration": (
        "everything the user could read, in the order in which it came",
        _kinds("agent", "narration", "answer"),
    ),
    "thoughts": ("what the agent said to itself, with its plans", _kinds("thought", "plan")),
    "calls": ("every call and result", _kinds("call", "result")),
    "widgets": ("what was shown by tools that show something", _widgets),
    "profile": ("what is known of the user", _kinds("profile")),
    "scenario": ("what a simulated user was to do: its plan and its persona", _kinds("scenario")),
    "turns": ("pairs of turns that the model of `entailment:` was asked about", _kinds("turns")),
    "handover": ("what one agent handed to another", _handover),
    "final_state": ("the last answer, and what the trial left behind", _final),
    "system": ("what the agent was told to be", _kinds("system")),
    "everything": (
        "the whole transcript",
        lambda one: [piece for piece in one.pieces if piece.kind not in ("scenario", "turns")],
    ),
}
"""Name -> description, and the selection of pieces."""


def check_view(selector: str) -> None:
    """Raises UsageError if the view does not exist."""
    if selector not in VIEWS and not (selector.startswith("calls:") and selector != "calls:"):
        raise UsageError(
            f"there is no view {selector!r} of a transcript",
            remedy=f"one of: {', '.join(VIEWS)}, calls:<pattern of tool names>",
        )


def view(transcript: Transcript, selectors: Sequence[str], agents: Collection[str] = ()) -> list[Piece]:
    """The pieces that the selectors show; if `agents` are given, only these agents' pieces.

    Raises UsageError for a view that does not exist.
    """
    found = _merged(transcript, [pieces_of(transcript, selector) for selector in selectors])
    return [piece for piece in found if _is_of(piece, agents, transcript.agent)] if agents else found


def pieces_of(transcript: Transcript, selector: str) -> list[Piece]:
    """The pieces of one view."""
    check_view(selector)
    if selector in VIEWS:
        return VIEWS[selector][1](transcript)
    pattern = selector.partition(":")[2]
    return [piece for piece in transcript.pieces if piece.tool is not None and fnmatchcase(piece.tool, pattern)]


def acted(transcript: Transcript, agents: Collection[str]) -> bool:
    """Whether one of the agents took any step."""
    return any(
        piece.kind in ("agent", "narration", "thought", "plan", "call") and _is_of(piece, agents, transcript.agent)
        for piece in transcript.pieces
    )


def _is_of(piece: Piece, agents: Collection[str], outermost: str) -> bool:
    if piece.kind in ("user", "reported", "system", "profile", "state"):
        return True
    agent = piece.agent or outermost
    return agent in agents or (ORCHESTRATOR in agents and agent == outermost)


def _merged(transcript: Transcript, views: Iterable[Iterable[Piece]]) -> list[Piece]:
    wanted = {piece.ref for pieces in views for piece in pieces}
    return [piece for piece in transcript.pieces if piece.ref in wanted]


# Built-in code criteria: those that need no model.

_IDENTIFIER: Final = re.compile(r"_|[a-z][A-Z]")
_SPOKEN: Final = frozenset({"agent", "narration", "answer"})


class Decision(Frozen):
    """The decision of code about one criterion; `passed` is None if the criterion is not eligible."""

    eligible: bool = True
    passed: bool | None
    rationale: str
    refs: tuple[str, ...] = ()


class CodeCriterion(Protocol):
    """A criterion that code decides. Implementations are Frozen models whose fields are the criterion's `with:`."""

    version: ClassVar[str]

    def decide(self, transcript: Transcript) -> Decision:
        """Never raises for what the agent did."""
        ...


class ReasoningLeakage(Frozen):
    """Fails if user-facing text names a tool.

    A tool whose name is an everyday word (`search`) counts only in backquotes, before a bracket or as "the search
    tool".
    """

    version: ClassVar[str] = "2"

    tools: tuple[str, ...] = ()
    """Further tools, not called in the trial, whose names the answer must not contain."""

    def decide(self, transcript: Transcript) -> Decision:
        spoken = [piece for piece in transcript.pieces if piece.kind in _SPOKEN]
        if not spoken:
            return Decision(eligible=False, passed=None, rationale="the agent said nothing to the user")
        names = sorted({piece.tool for piece in transcript.pieces if piece.tool} | set(self.tools))
        told = ((piece, [name for name in names if _names_tool(name, piece.text)]) for piece in spoken)
        found = [(piece, named) for piece, named in told if named]
        if not found:
            return Decision(passed=True, rationale=f"{len(spoken)} messages name no tool")
        listed = "; ".join(f"{piece.ref} says {', '.join(map(repr, named))}" for piece, named in found[:5])
        return Decision(passed=False, rationale=listed, refs=tuple(piece.ref for piece, _ in found))


def _names_tool(tool: str, text: str) -> bool:
    name = re.escape(tool)
    if _IDENTIFIER.search(tool):
        return re.search(rf"(?<!\w){name}(?!\w)", text) is not None
    return re.search(rf"`{name}`|(?<!\w){name}\(|\bthe {name} (?:tool|function)\b", text, re.I) is not None


CODE_CRITERIA: Final[dict[str, type]] = {"reasoning_leakage": ReasoningLeakage}
