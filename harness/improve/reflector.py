"""What a reflector is asked, and what is read out of its answer.

A `Reflector` is a function from a request to an answer. `ModelReflector` is a language model, a rule reflector is the
double of one.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from harness.improve.candidates import OF_TOOL, Component
from harness.improve.rollouts import Rollout
from harness.judging.calibration_questions import MARK
from harness.suite.documents import read_document
from harness.text import tokens_of
from harness.values import Frozen

_MAX_FEEDBACK = 4_000
_MOST_TOKENS = 12_000
"""Of the conversations of one request; an example beyond them has its failures alone."""

_REQUEST = """You improve the texts that an agent works by. The agent has these components:
{components}

You revise the text {path} of the component {name}.
Role: {role}

The text is now:
```
{text}
```

{shown}Find out which rule the text lacks or misstates. Write a text under which the component does its role well, in \
these conversations and in ones that you have not seen. Keep every rule that is right. State general rules; quote no \
conversation. Never gain a score by breaking a safety rule.

Give the whole new text between ``` marks."""


class ReflectionRequest(Frozen):
    """What a reflector is given."""

    component: Component
    """The component whose text is revised."""
    path: str
    """Which of its texts."""
    text: str
    """That text now."""
    components: tuple[Component, ...] = ()
    """All components of the agent, so that the reflector knows the roles of callers and called."""
    failing: tuple[Rollout, ...] = ()
    """Rollouts of training cases under the current texts, the worst first. Empty: revise without feedback."""

    @property
    def prompt(self) -> str:
        """The request as one text."""
        return _REQUEST.format(
            components="\n".join(_component_line(one) for one in self.components or (self.component,)),
            path=_described_text(self.path),
            name=self.component.name,
            role=self.component.role,
            text=self.text,
            shown=_feedback(self.failing),
        )


def _described_text(name: str) -> str:
    tool = name.removeprefix(OF_TOOL)
    return name if tool == name else f"{name}, the description of the tool {tool} that its agent reads,"


def _component_line(component: Component) -> str:
    return f"- {component.name}: {component.role}"


def _feedback(failing: Sequence[Rollout]) -> str:
    """Untrusted: it quotes trajectories. Marks are taken out, so that none of it can pass for the text."""
    if not failing:
        return ""
    parts = []
    left = _MOST_TOKENS
    for number, one in enumerate(failing, 1):
        left -= tokens_of(one.conversation)
        said = f"\nThe conversation:\n{one.conversation}".replace(MARK, "'''") if one.conversation and left >= 0 else ""
        parts.append(f"## Example {number}\n{_scores(one.domains)}\n{_feedback_text(one)}{said}")
    return "# Conversations under these texts\n\n" + "\n\n".join(parts) + "\n\n"


def _scores(domains: Mapping[str, float | None]) -> str:
    words = [f"{name} {score:.2f}" for name, score in domains.items() if score is not None]
    return f"Scores: {', '.join(words) or 'none'}"


def _feedback_text(rollout: Rollout) -> str:
    vetoed = f"Broke: {', '.join(rollout.vetoes)}\n" if rollout.vetoes else ""
    return (vetoed + (rollout.feedback or "No failure."))[:_MAX_FEEDBACK].replace(MARK, "'''")


# A reflector that edits by a rule book, in the place of a model that revises prompts.
#
# It knows what its request says and nothing else: the text as it is now, and what went wrong under it. A rule of the
# book applies if the text is one that it is about, if the feedback says what it is for, and if its edit would change
# the text. One of those that apply is made, at random by the seed; the book may hold wrong ones.

_FEEDBACK = "# Conversations under these texts"


class EditRule(Frozen):
    """One edit, and when it is tried."""

    text: str
    """What the text that it is about contains: a regular expression, in upper or lower case."""
    when: str = ""
    """What the feedback contains, likewise. If there is no feedback, every rule is tried."""
    add: str | None = Field(default=None, min_length=1)
    """A line to add."""
    drop: str | None = Field(default=None, min_length=1)
    """Lines that contain this expression are left out."""

    @model_validator(mode="after")
    def _edits(self) -> Self:
        if self.add is None and self.drop is None:
            raise ValueError("a rule has `add`, `drop` or both")
        for expression in (self.text, self.when, self.drop):
            try:
                re.compile(expression or "")
            except re.error as error:
                raise ValueError(f"{expression!r} is not a regular expression: {error}") from None
        return self

    def edited(self, text: str) -> str:
        """The text with the edit."""
        lines = text.splitlines()
        if self.drop is not None:
            lines = [line for line in lines if not re.search(self.drop, line, re.IGNORECASE)]
        if self.add is not None and f"- {self.add}" not in lines:
            lines.append(f"- {self.add}")
        return "\n".join(lines)


class EditRules(Frozen):
    """The edits that a rule reflector knows, right and wrong ones."""

    rules: tuple[EditRule, ...] = Field(min_length=1)

    def edits(self, text: str) -> int:
        """How many of them could change a text, whatever the feedback says."""
        return sum(_applied(rule, text, "") is not None for rule in self.rules)


def read_rule_book(path: Path) -> EditRules:
    """Raises InvalidDocument with file, line and field."""
    return read_document(path, EditRules)


class RuleReflector:
    """A function of a request.

    Equal requests get other answers as they are repeated, as from a model that samples; the sequence of answers is the
    same for a seed.
    """

    def __init__(self, book: EditRules, *, seed: int = 0) -> None:
        self._book = book
        self._seed = seed
        self._asked: Counter[str] = Counter()

    def __call__(self, request: str) -> str:
        """The whole new text between ``` marks; the text as it is if no rule applies.

        The rules that apply take turns for each text, so that the words of a request, which change with the harness,
        do not decide which rule is met first.
        """
        text, feedback = _text_and_feedback(request)
        edits = [edited for rule in self._book.rules if (edited := _applied(rule, text, feedback)) is not None]
        random.Random(f"{self._seed}:{text}").shuffle(edits)
        turn = self._asked[text]
        self._asked[text] += 1
        return f"{MARK}\n{edits[turn % len(edits)] if edits else text}\n{MARK}"


def _text_and_feedback(request: str) -> tuple[str, str]:
    """The text between the first two marks, and the feedback; the latter is empty if there is none."""
    _, _, rest = request.partition(f"{MARK}\n")
    text, _, after = rest.partition(f"\n{MARK}")
    _, _, feedback = after.partition(_FEEDBACK)
    return text, feedback


def _applied(rule: EditRule, text: str, feedback: str) -> str | None:
    """The text with the rule's edit; None if the rule does not apply."""
    if not re.search(rule.text, text, re.IGNORECASE):
        return None
    if feedback and not re.search(rule.when, feedback, re.IGNORECASE | re.DOTALL):
        return None
    edited = rule.edited(text)
    return None if edited.split() == text.split() else edited
