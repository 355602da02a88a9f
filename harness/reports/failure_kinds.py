"""Kinds of failure that became more frequent, with the affected tools, agents and prompts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from harness.reports.change import MetricChange, change, corrected
from harness.reports.compare import short_prompt
from harness.runs.store.folder import RunFolder, TrialKey
from harness.scoring.scorecard import Scorecard, ToolUse
from harness.traces.outcomes import MEASURED
from harness.traces.trajectory import Step, Trajectory
from harness.values import Frozen, digest_of

Group = Literal["invalid_arguments", "failure_mode", "outcome"]
"""In the order of the page: arguments change first where a base model does."""

_EXAMPLES = 3
_TELLING = 40
"""Minimum length of a prompt that is identified by its text in a system message."""

Key = tuple[Group, str]
Pair = tuple[Scorecard, Scorecard]


class FailureKind(Frozen):
    """One kind, in more trials than before."""

    group: Group
    kind: str
    """A fault of arguments, the kind of a detector's finding, or an outcome."""
    change: MetricChange
    """Of the share of trials that have it."""
    trials_before: int
    trials_after: int
    tools: dict[str, int] = {}
    """Trials with the kind, by the tools whose calls it is found at."""
    agents: dict[str, int] = {}
    """The same by the (sub-)agents that made those calls, where they are known."""
    prompts: dict[str, int] = {}
    """The same by the prompts in use there: `name@version` where spans name one, else the agent's prompt file whose
    text stands in the system message, else the beginning of its digest.
    """
    examples: tuple[str, ...] = ()
    """`case/attempt`."""

    @property
    def appeared(self) -> bool:
        """Whether the kind is new: no earlier trial has it."""
        return not self.trials_before


def failure_kinds(pairs: Sequence[Pair], after: RunFolder, prompt_texts: Mapping[str, str]) -> tuple[FailureKind, ...]:
    """The kinds that more trials have than before; trials that were not measured in both runs are left out.

    `prompt_texts` are the agent's prompt files by name: a system message that holds one of them is called by it.

    In the order of the groups; in each, those that no trial had before come first, then by trials.
    """
    measured = [(old, new) for old, new in pairs if old.outcome in MEASURED and new.outcome in MEASURED]
    had = [(new.case_id, _keys(old), _keys(new)) for old, new in measured]
    before = Counter(key for _, own, _ in had for key in own)
    now = Counter(key for _, _, own in had for key in own)
    keys = [key for key in now if now[key] > before[key]]
    tested = corrected(
        [
            change(
                f"{group}:{kind}",
                [(case, float((group, kind) in old), float((group, kind) in new)) for case, old, new in had],
                lower_is_better=True,
            )
            for group, kind in keys
        ]
    )
    reader = _TrialReader(after, {name: text.strip() for name, text in prompt_texts.items()})
    found = [
        _kind(key, moved, before[key], [new for _, new in measured if key in _keys(new)], reader)
        for key, moved in zip(keys, tested, strict=True)
    ]
    groups = get_args(Group)
    return tuple(
        sorted(found, key=lambda one: (groups.index(one.group), not one.appeared, -one.trials_after, one.kind))
    )


def _keys(card: Scorecard) -> frozenset[Key]:
    return frozenset(_found(card))


def _found(card: Scorecard) -> Iterator[Key]:
    for use in card.tool_use:
        yield from _faults(use)
    for one in card.diagnoses:
        yield "failure_mode", one.kind
    if card.outcome != "finished":
        yield "outcome", card.outcome


def _kind(
    key: Key, moved: MetricChange, before: int, cards: Sequence[Scorecard], reader: "_TrialReader"
) -> FailureKind:
    group, kind = key
    touched = [reader.touched(key, card) for card in cards]
    return FailureKind(
        group=group,
        kind=kind,
        change=moved,
        trials_before=before,
        trials_after=len(cards),
        tools=_counted(one.tools for one in touched),
        agents=_counted(one.agents for one in touched),
        prompts=_counted(one.prompts for one in touched),
        examples=tuple(f"{card.case_id}/{card.attempt}" for card in cards[:_EXAMPLES]),
    )


@dataclass(frozen=True, kw_only=True)
class _Touched:
    """What a kind is found at in one trial."""

    tools: frozenset[str]
    agents: frozenset[str]
    prompts: frozenset[str]


class _TrialReader:
    """Reads each trial of a run once."""

    def __init__(self, run: RunFolder, prompt_texts: Mapping[str, str]) -> None:
        self._run = run
        self._texts = prompt_texts
        self._read: dict[TrialKey, Trajectory | None] = {}

    def touched(self, key: Key, card: Scorecard) -> _Touched:
        """The tools that the kind is found at, the agents that called them, and the prompts in use there."""
        named = {use.tool for use in card.tool_use if key in {*_faults(use)}}
        origins = {one.origin_step for one in card.diagnoses if one.kind == key[1]}
        trajectory = self._trajectory(card)
        steps = () if trajectory is None else trajectory.steps
        own = [step for step in steps if (named & _tools(step) if named else step.index in origins)]
        return _Touched(
            tools=frozenset(named or {name for step in own for name in _tools(step)}),
            agents=frozenset(step.agent for step in own if step.agent is not None),
            prompts=frozenset(self._prompts(card, trajectory, own)),
        )

    def _trajectory(self, card: Scorecard) -> Trajectory | None:
        key = (card.case_id, card.attempt)
        if key not in self._read:
            trial = self._run.trial(*key)
            self._read[key] = None if trial is None else trial.trajectory
        return self._read[key]

    def _prompts(self, card: Scorecard, trajectory: Trajectory | None, steps: Sequence[Step]) -> set[str]:
        """Those that spans name; else the system messages of the steps' agents; else those of the whole trial."""
        if trajectory is None or trajectory.prompts or not steps:
            return set() if card.prompt is None else set(map(short_prompt, card.prompt.split(", ")))
        said = {_system_message(trajectory, step) for step in steps}
        return {name for message in said if message is not None for name in self._names(message)}

    def _names(self, message: str) -> list[str]:
        found = [
            name
            for name, text in self._texts.items()
            if text and (text == message.strip() or (len(text) >= _TELLING and text in message))
        ]
        return found or [short_prompt(digest_of([message]))]


def _system_message(trajectory: Trajectory, step: Step) -> str | None:
    """The latest system message of the step's agent."""
    before = [
        one.message
        for one in trajectory.steps
        if one.source == "system" and one.agent == step.agent and one.index <= step.index and one.message is not None
    ]
    return before[-1] if before else None


def _faults(use: ToolUse) -> Iterator[Key]:
    for fault in use.invalid:
        yield "invalid_arguments", fault


def _tools(step: Step) -> set[str]:
    return {call.name for call in step.calls}


def _counted(names: Iterable[frozenset[str]]) -> dict[str, int]:
    counts = Counter(name for own in names for name in own)
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
