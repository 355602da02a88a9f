"""Built-in code criteria: those that need no model."""

import re
from typing import ClassVar, Final, Protocol

from harness.judge.transcript import Piece, Transcript
from harness.values import Frozen

_SYSTEM_WORDS: Final = re.compile(
    r"\b(?:tool|function)[ _]?calls?\b|\bsystem (?:prompt|message|instructions?)\b|\bsub-?agents?\b|\borchestrator\b"
    r"|\b(?:api|mcp) (?:call|request|response|server|endpoint)s?\b|\bjson\b|\bmy (?:tools|instructions|prompt)\b"
    r"|\bchain of thought\b|<(?:thinking|thought|tool_call|function_call)>|\bsession state\b",
    re.I,
)
_IDENTIFIER: Final = re.compile(r"_|[a-z][A-Z]")
_SPOKEN: Final = frozenset({"agent", "narration", "answer"})


class Decision(Frozen):
    """The decision of code about one criterion; `passed` is None where the criterion is not eligible."""

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
    """Fails where user-facing text names a tool or a system word.

    A tool whose name is an everyday word (`search`) counts only in backquotes, before a bracket or as "the search
    tool".
    """

    version: ClassVar[str] = "1"

    allow: tuple[str, ...] = ()
    """Allowed words: an agent about APIs writes "API response"."""
    tools: tuple[str, ...] = ()
    """Further tools, not called in the trial, whose names the answer must not contain."""

    def decide(self, transcript: Transcript) -> Decision:
        spoken = [piece for piece in transcript.pieces if piece.kind in _SPOKEN]
        if not spoken:
            return Decision(eligible=False, passed=None, rationale="the agent said nothing to the user")
        names = sorted({piece.tool for piece in transcript.pieces if piece.tool} | set(self.tools))
        found = [(piece, words) for piece in spoken if (words := self._leaks(piece, names))]
        if not found:
            return Decision(passed=True, rationale=f"{len(spoken)} messages name no tool and no system word")
        listed = "; ".join(f"{piece.ref} says {', '.join(map(repr, words))}" for piece, words in found[:5])
        return Decision(passed=False, rationale=listed, refs=tuple(piece.ref for piece, _ in found))

    def _leaks(self, piece: Piece, names: list[str]) -> list[str]:
        allowed = {word.lower() for word in self.allow}
        words = [match[0] for match in _SYSTEM_WORDS.finditer(piece.text)]
        words += [name for name in names if _named(name, piece.text)]
        return [word for word in dict.fromkeys(words) if word.lower() not in allowed]


def _named(tool: str, text: str) -> bool:
    name = re.escape(tool)
    if _IDENTIFIER.search(tool):
        return re.search(rf"(?<!\w){name}(?!\w)", text) is not None
    return re.search(rf"`{name}`|(?<!\w){name}\(|\bthe {name} (?:tool|function)\b", text, re.I) is not None


CODE_CRITERIA: Final[dict[str, type]] = {"reasoning_leakage": ReasoningLeakage}
