"""What a reflector is asked, and what is read out of its answer.

A reflector is a `Reflector` of `harness.judge`: a function from a request to an answer. `ModelReflector` is a language
model, a rule reflector is the double of one.
"""

from collections.abc import Mapping, Sequence

from harness.optimise.candidates.candidate import OF_TOOL
from harness.optimise.candidates.components import Component
from harness.optimise.rollouts.rollout import Rollout
from harness.values import Frozen

MARK = "```"
_MAX_FEEDBACK = 4_000

_REQUEST = """You improve the texts that an agent works by. The agent has these components:
{components}

You revise the text {path} of the component {name}.
Role: {role}
Called by: {called_by}

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
            components="\n".join(_described(one) for one in self.components or (self.component,)),
            path=_described_text(self.path),
            name=self.component.name,
            role=self.component.role,
            called_by=", ".join(self.component.called_by) or "the user",
            text=self.text,
            shown=_feedback(self.failing),
        )


def proposed_text(answer: str) -> str | None:
    """The text between the first ``` mark of a line and the last one; None where the answer holds none, such as a
    refusal."""
    first, last = answer.find(MARK), answer.rfind(MARK)
    if first == last:
        return None
    inside = answer[first + len(MARK) : last]
    _, line_end, text = inside.partition("\n")
    found = (text if line_end else inside).strip()
    return f"{found}\n" if found else None


def _described_text(name: str) -> str:
    tool = name.removeprefix(OF_TOOL)
    return name if tool == name else f"{name}, the description of the tool {tool} that its agent reads,"


def _described(component: Component) -> str:
    callers = ", ".join(component.called_by) or "the user"
    return f"- {component.name} (called by {callers}): {component.role}"


def _feedback(failing: Sequence[Rollout]) -> str:
    """Untrusted: it quotes trajectories. Marks are taken out, so that none of it can pass for the text."""
    if not failing:
        return ""
    parts = [f"## Example {number}\n{_scores(one.domains)}\n{_clean(one)}" for number, one in enumerate(failing, 1)]
    return "# Conversations under these texts\n\n" + "\n\n".join(parts) + "\n\n"


def _scores(domains: Mapping[str, float | None]) -> str:
    words = [f"{name} {score:.2f}" for name, score in domains.items() if score is not None]
    return f"Scores: {', '.join(words) or 'none'}"


def _clean(rollout: Rollout) -> str:
    vetoed = f"Broke: {', '.join(rollout.vetoes)}\n" if rollout.vetoes else ""
    return (vetoed + (rollout.feedback or "No failure."))[:_MAX_FEEDBACK].replace(MARK, "'''")
