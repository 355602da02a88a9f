"""The labelled sets through `harness import`'s own importers; those in a form of their own are converted before.

A run's labels are what its makers or annotators said; None where they said nothing of a mode.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from corpus import Split, split_of

from harness.errors import HarnessError
from harness.runs.importing import with_rewards
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.scoring.scorer import build_scorer
from harness.scoring.verifiers.answers import REWARD
from harness.traces.formats.found import ImportOptions
from qa.converters import imported as import_set

MODES = ("loop_trap", "tool_hallucination", "goal_drift", "premature_commitment", "cascading_error")
_CATEGORIES: Mapping[str, str] = {
    "resource abuse": "loop_trap",
    "tool-related": "tool_hallucination",
    "language-only": "tool_hallucination",
    "goal deviation": "goal_drift",
}
"""TRAIL's error categories that are one of our modes."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One imported run, its scorecard and what people or its maker said of it."""

    source: str
    id: str
    evidence: Evidence
    card: Scorecard
    success: bool | None = None
    """By the reward, or as the set says; the detectors see the reward alone."""
    modes: Mapping[str, bool] = field(default_factory=dict)
    step: int | None = None
    """Index of the decisive mistake's step."""
    agent: str | None = None

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

    @property
    def domain(self) -> str:
        """Of the benchmarks with domains: whose tools the run has."""
        return next((one for one in ("retail", "airline", "telecom") if one in self.id), self.source)

    @property
    def user(self) -> str:
        """Whom the task is about: the reference's user, else the case."""
        calls = self.evidence.case.reference or ()
        named = (str(call.arguments["user_id"]) for call in calls if "user_id" in call.arguments)
        return next(named, self.evidence.case.id)

    @property
    def found(self) -> frozenset[str]:
        return frozenset(one.failure for one in self.card.diagnoses)

    @property
    def everything(self) -> tuple[Diagnosis, ...]:
        """Findings and hints."""
        return (*self.card.diagnoses, *self.card.hints)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a set says of one run beside its reward."""

    success: bool | None = None
    modes: Mapping[str, bool] = field(default_factory=dict)
    step: int | None = None
    agent: str | None = None
    span: str | None = None


@dataclass(frozen=True, kw_only=True)
class Set:
    """A set: its format (or the form to convert), its files, and what it says of the run that came from a file."""

    format: str
    path: str
    told: Callable[[Path], Told | None] = lambda _: Told()
    tools: Callable[[Path], str | None] = lambda _: None
    """The file of definitions (`--tools`) that belongs to a file of runs, below the data's folder."""


def _of_domain(path: Path) -> str | None:
    """tau-bench's own definitions; tau2 has the same tools in two of its domains, and none are at hand of the third."""
    domain = next((one for one in ("airline", "retail") if one in path.name), None)
    return None if domain is None else f"taubench/{domain}_tools.json"


_READ: Final = yaml.safe_load((Path(__file__).parent / "modes.yaml").read_text(encoding="utf-8"))


def _read_by_hand(name: str, run: str) -> dict[str, bool]:
    """The modes that the reason of a run's annotator speaks of; see `modes.yaml`."""
    return {mode: any(str(one) == run for one in runs) for mode, runs in _READ[name].items()}


def _resolved(path: Path) -> Told:
    return Told(success=path.parent.name == "resolved")


def _blamed(path: Path) -> Told:
    raw = json.loads(path.read_text())
    name = "magentic" if path.parent.name == "Hand-Crafted" else "captain"
    modes = _read_by_hand(name, path.stem)
    return Told(success=False, step=int(raw["mistake_step"]), agent=raw["mistake_agent"], modes=modes)


def _annotated(path: Path) -> Told | None:
    """None: the annotation is not JSON (one of the 57)."""
    try:
        errors = json.loads((path.parents[1] / "annotations" / path.name).read_text())["errors"]
    except ValueError:
        return None
    said = {_CATEGORIES.get(one["category"].casefold()) for one in errors}
    categories = {mode: mode in said for mode in sorted(set(_CATEGORIES.values()))}
    return Told(modes={**categories, **_read_by_hand("trail", path.stem[:6])})


SETS: Mapping[str, Set] = {
    "taubench": Set(format="tau-bench", path="taubench/historical_trajectories/*.json"),
    "tau2": Set(format="tau2", path="tau2/*.json"),
    "toolorchestra": Set(format="tau2", path="tau2_toolorchestra/*.json"),
    "react_text": Set(format="tau-bench", path="react_text/phase1/*/*/*.json"),
    "kimi": Set(format="atif", path="kimi_terminal_bench/*/agent/trajectory.json"),
    "sweagent": Set(
        format="swe-agent", path="sweagent/**/*.traj", told=lambda _: Told(success=True, modes={"loop_trap": False})
    ),
    "miniswe": Set(format="mini-swe", path="miniswe/*/*.json", told=_resolved),
    "toolbench": Set(format="toolbench", path="toolbench/*.json"),
    "mirage": Set(format="mirage", path="mirage/*/*/*.json", told=lambda _: Told(modes={"loop_trap": True})),
    "trail-gaia": Set(format="trail", path="trail/gaia/traces/*.json", told=_annotated),
    "trail-swe": Set(format="trail", path="trail/swe/traces/*.json", told=_annotated),
    "magentic": Set(format="who-and-when", path="whowhen/Hand-Crafted/*.json", told=_blamed),
    "captain": Set(format="who-and-when", path="whowhen/Algorithm-Generated/*.json", told=_blamed),
}
"""By name; each is a source of its own.

`trail-gaia` (questions, a manager with a search agent) and `trail-swe` (repairs, one agent that runs code) are the two
parts of TRAIL, `magentic` (hand-crafted) and `captain` (algorithm-generated) those of Who&When: the two parts of a set
share annotators, and neither agents nor tasks.
"""


DECLARED: Mapping[str, Set] = {
    "taubench declared": Set(format="tau-bench", path="taubench/historical_trajectories/*.json", tools=_of_domain),
    "tau2 declared": Set(format="tau2", path="tau2/*.json", tools=_of_domain),
}
"""Sets once more, imported with `--tools`: who has the definitions gives them, and finds what needs them."""


UNREAD: Final[frozenset[str]] = frozenset()
"""Labelled sets of which nobody who wrote a rule had read a run: none. The rules are in sample on all of them, whatever
is left out of the counts.
"""


@cache
def labelled(data: Path, name: str) -> tuple[Labelled, ...]:
    """Every run of a set, imported and scored as `harness import` does it."""
    chosen = {**SETS, **DECLARED}[name]
    return tuple(one for path in sorted(data.glob(chosen.path)) for one in _of_file(name, chosen, path, data))


def _of_file(name: str, chosen: Set, path: Path, data: Path) -> Iterator[Labelled]:
    tools = chosen.tools(path)
    options = ImportOptions(tools=None if tools is None else data / tools)
    told = chosen.told(path)
    if told is None:
        return
    try:
        imported = import_set(chosen.format, path, options)
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
        success = told.success if card.success is None else card.success
        yield Labelled(
            source=name,
            id=f"{path.stem}/{trial.case_id}/{trial.attempt}",
            evidence=evidence.model_copy(update={"verdicts": card.verdicts}),
            card=card,
            success=success,
            modes=_negatives(told, success),
            step=told.step,
            agent=told.agent,
        )


def _negatives(told: Told, success: bool | None) -> Mapping[str, bool]:
    """A success is not a loop; of the other modes it says nothing, because a slip can be made good."""
    return told.modes or ({"loop_trap": False} if success else {})
