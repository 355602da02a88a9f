"""Views: the part of a transcript that one criterion needs.

A selector is a view's name, or `calls:<pattern>`: the calls of tools with matching names, with their results
(`calls:add_*`). Several selectors together show the pieces of all of them, each once, in order.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from harness.errors import UsageError
from harness.judge.transcript.piece import Piece, PieceKind, Transcript

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
    "handover": ("what one agent handed to another", _handover),
    "final_state": ("the last answer, and what the trial left behind", _final),
    "system": ("what the agent was told to be", _kinds("system")),
    "everything": (
        "the whole transcript",
        lambda one: [piece for piece in one.pieces if piece.kind != "scenario"],
    ),
}
"""Name -> description, and the selection of pieces."""


def check_view(selector: str) -> None:
    """Raises UsageError where the view does not exist."""
    if selector not in VIEWS and not (selector.startswith("calls:") and selector != "calls:"):
        raise UsageError(
            f"there is no view {selector!r} of a transcript",
            remedy=f"one of: {', '.join(VIEWS)}, calls:<pattern of tool names>",
        )


def view(transcript: Transcript, selectors: Sequence[str], agents: Collection[str] = ()) -> list[Piece]:
    """The pieces that the selectors show; where `agents` are given, only these agents' pieces.

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
