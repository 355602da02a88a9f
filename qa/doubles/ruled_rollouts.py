"""Rollouts of an agent that obeys exactly the rules that its texts hold.

They show how an optimisation decides, not how well a language model would follow a prompt.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.improve.candidates import Candidate
from harness.improve.rollouts import Rollout

DOMAIN = "quality"


@dataclass(frozen=True, kw_only=True)
class PromptRule:
    """A line that a text may hold, and what it does to the cases that it concerns."""

    text: str
    """The rule holds if a text of the candidate contains this."""
    cases: frozenset[str] | None = None
    """The cases that it concerns; None: all."""
    domain: str = DOMAIN
    gain: float = 1.0
    """Added to the domain's score; negative: the rule does harm."""
    veto: str | None = None
    """A critical criterion that the rule makes the agent break."""
    steps: int = 0
    cost_usd: float = 0.0


@dataclass(kw_only=True)
class RuledRollouts:
    """Scores a case by the rules that hold; a seeded judge flips each domain's verdict with the probability `noise`."""

    rules: Sequence[PromptRule]
    start: Mapping[str, float] = field(default_factory=lambda: {DOMAIN: 0.0})
    """Domain -> score without any rule."""
    noise: float = 0.0
    seed: int = 0
    ran: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """How often each (candidate, case, sample) was run."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None, sample: int = 0
    ) -> list[Rollout]:
        """Scores lie between 0 and 1; a score of a noisy judge is 1 minus the score if it flips."""
        del component
        self.ran.update((candidate.id, case, sample) for case in cases)
        return [self._rollout(candidate, case, sample) for case in cases]

    def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
        concerning = [one for one in self.rules if one.cases is None or case in one.cases]
        held = [one for one in concerning if any(one.text in text for text in candidate.texts.values())]
        chance = random.Random(f"{self.seed}:{candidate.id}:{case}:{sample}")
        scores = {}
        for domain, start in self.start.items():
            score = min(1.0, max(0.0, start + sum(one.gain for one in held if one.domain == domain)))
            scores[domain] = 1 - score if chance.random() < self.noise else score
        lacking = [one for one in concerning if one not in held and one.gain > 0 and one.veto is None]
        return Rollout(
            case=case,
            candidate=candidate.id,
            domains=scores,
            vetoes=tuple(one.veto for one in held if one.veto is not None),
            feedback="\n".join(f"the rule {one.text!r} was not followed" for one in lacking),
            steps=5 + sum(one.steps for one in held),
            cost_usd=0.01 + sum(one.cost_usd for one in held),
            tokens=100,
            calls=1,
        )
