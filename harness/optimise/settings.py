"""What is asked of an optimisation besides its suite."""

from dataclasses import dataclass, field

from harness.optimise.acceptance import AcceptanceRules
from harness.optimise.searching.search import Vetoes


@dataclass(frozen=True, kw_only=True)
class OptimisationSettings:
    """How much is searched, and how strictly it is decided."""

    rollouts: int = 200
    """Rollouts of each optimiser, cached ones included."""
    minibatch: int | None = None
    """Training cases that a revision is tried on; None: as many as leave enough revisions."""
    noise_samples: int = 3
    """How often the texts in use are run on validation."""
    seed: int = 0
    rules: AcceptanceRules = field(default_factory=AcceptanceRules)
    vetoes: Vetoes = field(default_factory=Vetoes)
    """Switched off only in tests."""
