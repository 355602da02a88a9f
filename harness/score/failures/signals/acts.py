"""One call of the agent with what came of it, and the forms in which detectors compare it; each is made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from harness.case import ToolSpec
from harness.score.comparison.jsonvalue import equality_key
from harness.score.failures.signals.grounding import atoms, identifiers, texts
from harness.score.failures.signals.repetition import gist, settled, unnumbered
from harness.score.failures.signals.told_errors import told_error
from harness.trace import Observation, ToolCall

_CODE: Final = frozenset({"command", "cmd", "code", "script", "commands"})


@dataclass(frozen=True, kw_only=True)
class Act:
    """One call of the agent and what came of it."""

    number: int
    """Among the agent's calls, from 0."""
    step: int
    """The step's index."""
    moment: int
    call: ToolCall
    seen: Observation | None
    """None: what came back is not recorded."""
    tool: ToolSpec | None
    """None: no such tool is declared."""
    key: str
    """Equal for equal calls."""

    @property
    def failed(self) -> bool:
        return self.seen is not None and self.seen.error is not None

    @cached_property
    def told_error(self) -> str | None:
        """What its answer says that failed, whether it is flagged as an error or not."""
        return None if self.seen is None else told_error(self.seen, self.writes)

    @property
    def writes(self) -> bool:
        """Declared as one; a call of an undeclared tool is none, because nothing is known of it."""
        return self.tool is not None and self.tool.effect == "write"

    @cached_property
    def answer(self) -> str | None:
        """Equal for equal answers; None: not recorded."""
        if self.seen is None:
            return None
        kind = "" if self.seen.error is None else self.seen.error.type
        if self.seen.content is None and self.seen.error is not None:
            return f"{kind} {self.seen.error.message}"
        return f"{kind} {equality_key(self.seen.content)}"

    @cached_property
    def asked(self) -> frozenset[str]:
        """The atoms of all that the call asks for."""
        arguments = self.call.arguments
        argument_texts = [self.call.unparsed or ""] if arguments is None else texts(arguments)
        return frozenset(atom for text in argument_texts for atom in atoms(text))

    @cached_property
    def gist_key(self) -> str:
        """Equal for calls that ask for the same; equal keys have equal gists (see `repetition`)."""
        if self.call.arguments is None:
            return self.key
        return f"{self.call.name} {gist(self.call.arguments, is_code=self.is_code)}"

    @cached_property
    def answer_key(self) -> str | None:
        """Equal for answers that tell the same; None: not recorded."""
        if self.answer is None:
            return None
        # what a write answers with may name what it made
        return settled(self.answer if self.tool is None or self.writes else unnumbered(self.answer))

    @property
    def is_code(self) -> bool:
        """Whether the call runs what the agent wrote."""
        return not _CODE.isdisjoint(self.call.arguments or ())

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.is_code else identifiers(self.call.arguments)
