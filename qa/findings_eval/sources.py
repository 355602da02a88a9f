"""The published sets through `harness import`'s own importers; those in a form of their own are converted before."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpus import Split, split_of

from harness.errors import HarnessError
from harness.runs.importing import with_rewards
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import build_scorer
from harness.scoring.verifiers.answers import REWARD
from qa.converters import imported as import_set


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One imported run, its scorecard and what people or its maker said of it."""

    source: str
    id: str
    evidence: Evidence
    card: Scorecard
    success: bool | None = None
    """By the reward, or as the set says; the detectors see the reward alone."""

    @property
    def blind(self) -> Evidence:
        """The evidence without anything that tells whether the run succeeded."""
        states = {name: state for name, state in self.evidence.trial.states.items() if name != REWARD}
        trial = self.evidence.trial.model_copy(update={"states": states})
        return self.evidence.model_copy(update={"trial": trial, "verdicts": ()})

    @property
    def split(self) -> Split:
        """By the hash of the run's id: fixed, and independent of what is in the run."""
        return split_of(f"{self.source}/{self.id}")


@dataclass(frozen=True, kw_only=True)
class Set:
    """A set: its format (or the form to convert), its files, and whether the run of a file succeeded, if it has no
    reward.
    """

    format: str
    path: str
    success: Callable[[Path], bool | None] = lambda _: None


SETS: Mapping[str, Set] = {
    "taubench": Set(format="tau-bench", path="taubench/historical_trajectories/*.json"),
    "tau2": Set(format="tau2", path="tau2/*.json"),
    "toolorchestra": Set(format="tau2", path="tau2_toolorchestra/*.json"),
    "react_text": Set(format="tau-bench", path="react_text/phase1/*/*/*.json"),
    "kimi": Set(format="atif", path="kimi_terminal_bench/*/agent/trajectory.json"),
    "sweagent": Set(format="swe-agent", path="sweagent/**/*.traj", success=lambda _: True),
    "miniswe": Set(format="mini-swe", path="miniswe/*/*.json", success=lambda path: path.parent.name == "resolved"),
    "toolbench": Set(format="toolbench", path="toolbench/*.json"),
    "mirage": Set(format="mirage", path="mirage/*/*/*.json"),
}
"""By name; each is a source of its own. `mirage` has runs that repeat themselves, `toolbench` runs with tools that are
not available.
"""


@cache
def labelled(data: Path, name: str) -> tuple[Labelled, ...]:
    """Every run of a set, imported and scored as `harness import` does it."""
    chosen = SETS[name]
    return tuple(one for path in sorted(data.glob(chosen.path)) for one in _of_file(name, chosen, path))


def _of_file(name: str, chosen: Set, path: Path) -> Iterator[Labelled]:
    try:
        imported = import_set(chosen.format, path)
    except HarnessError as error:
        print(f"{name}: {error}")
        return
    suite = with_rewards(imported)
    scorer = build_scorer(suite)
    cases = {case.id: case for case in suite.cases}
    for trial, _ in imported.trials:
        reward = imported.rewards.get((trial.case_id, trial.attempt))
        states = trial.states if reward is None else {**trial.states, REWARD: reward}
        kept = trial.model_copy(update={"states": states})
        evidence = Evidence(case=cases[kept.case_id], trial=kept, tools=suite.tools)
        card = scorer.score(evidence)
        success = chosen.success(path) if card.success is None else card.success
        yield Labelled(
            source=name,
            id=f"{path.stem}/{trial.case_id}/{trial.attempt}",
            evidence=evidence.model_copy(update={"verdicts": card.verdicts}),
            card=card,
            success=success,
        )
