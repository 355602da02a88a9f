"""How often, and in which form, the model of a user is asked for one message.

It is asked as the conversation stands, with a note on what was wrong; then with the agent's words as a quotation; then
without the agent's last words, without any of them, and from the opening alone. What fails in every form is the
simulator's own fault. What fails only beside the agent's words depends on them: the message that was written without
them is said, the conversation goes on, and it counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.gateway import Heard
from harness.simulate.fidelity.message import MessageProblem
from harness.simulate.role import begun_again, without_rounds
from harness.trace import FaultClass

_CONDUCT: Final[frozenset[FaultClass]] = frozenset(
    ("no_message", "tool_call", "too_long", "speaks_as_agent", "other_language", "out_of_role", "never_ends")
)
"""Faults of how a user behaves. The others are of what it says, which a genuine question may cause, too."""
_OFTEN: Final = 2
"""Turns of one conversation in which the agent's words alone made the model fail in its conduct."""
_LEAST_ECHOED: Final = 4
_OFFERED: Final = re.compile(r"[:\u201c\u201e\u00ab\"'`\u2018]\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class QuestionForm:
    """One way to ask."""

    heard: Heard
    quoted: bool = False
    left_out: frozenset[int] = frozenset()
    """The rounds, numbered from 0, whose words of the agent it leaves out."""

    @property
    def leaves_out(self) -> bool:
        return bool(self.left_out)


def forms_of(heard: Heard, corrections: int) -> Iterator[QuestionForm]:
    """The forms in their order, each asked if all before it gave no message of a user."""
    for number in range(corrections + 1):
        yield QuestionForm(heard, quoted=number == corrections > 0)
    every = frozenset(range(len(heard.rounds)))
    for left_out in (frozenset((len(heard.rounds) - 1,)), every):
        yield QuestionForm(without_rounds(heard, left_out), left_out=left_out)
    yield QuestionForm(begun_again(heard), left_out=every)


def is_caused_by(problems: list[tuple[MessageProblem, str]], last: str, failed_before: int) -> bool:
    """Whether the agent is charged for faults that its words alone have caused: they are of conduct, and it offered
    the words that the model wrote, or it has caused such faults before.

    `problems`: each fault with what the model wrote; `failed_before`: earlier turns with faults of conduct.
    """
    conduct = [text for problem, text in problems if problem.fault in _CONDUCT]
    if len(conduct) < len(problems):
        return False
    return failed_before + 1 >= _OFTEN or all(_is_offered(text, last) for text in conduct)


def is_conduct(problems: list[tuple[MessageProblem, str]]) -> bool:
    """Whether all faults are of how a user behaves."""
    return all(problem.fault in _CONDUCT for problem, _ in problems)


def _is_offered(text: str, last: str) -> bool:
    """Whether a message holds a run of words that the agent's reply has in quotation marks or behind a colon."""
    found = _OFFERED.search(last[:20_000])
    if found is None:
        return False
    offered, words = " ".join(_words(found[1])), _words(text)
    runs = (" ".join(words[at : at + _LEAST_ECHOED]) for at in range(max(1, len(words) - _LEAST_ECHOED + 1)))
    return bool(words) and any(f" {run} " in f" {offered} " for run in runs)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text[:4_000].casefold())
