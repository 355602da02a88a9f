"""Durations with live services; durations of a replay say nothing about production."""

import math
from collections.abc import Iterable, Sequence

from harness.results import RunManifest, StoredTrial
from harness.trace import Span, Trial, names
from harness.values import Frozen

_REAL = (None, "live", "sealed")
"""Tiers of live answers; None: an imported trace, which was recorded live."""


class Spread(Frozen):
    """Percentiles by nearest rank: a value that was measured, never one between two."""

    n: int
    p50_ms: float
    p95_ms: float


class Latency(Frozen):
    """The measured durations of a run; None for a kind without measurements."""

    first_token: Spread | None
    """From a model request to the first piece of its reply."""
    turn: Spread | None
    """From the user's message to the agent's reply."""
    trial: Spread | None


class LatencyCollector:
    """Collects the times of a run's trials, one at a time."""

    def __init__(self, manifest: RunManifest) -> None:
        self._tools_real = manifest.tool_mode != "replay"
        self._models_real = manifest.model_mode not in ("none", "replay")
        self._first: list[float] = []
        self._turns: list[float] = []
        self._trials: list[float] = []
        self._tools: dict[str, list[float]] = {}

    def add(self, stored: StoredTrial) -> None:
        """Reads the trial's spans only where a model was called live."""
        if self._models_real:
            self._first.extend(_first_tokens(stored.spans))
        if self._tools_real or self._models_real:
            self._turns.extend(_turns(stored.trial))
            if stored.trial.duration_s is not None:
                self._trials.append(1000 * stored.trial.duration_s)
        if self._tools_real:
            self._add_tools(stored.trial)

    def of_run(self) -> Latency | None:
        """None where nothing was measured."""
        found = Latency(first_token=_spread(self._first), turn=_spread(self._turns), trial=_spread(self._trials))
        return None if found == Latency(first_token=None, turn=None, trial=None) else found

    def of_tools(self) -> dict[str, Spread]:
        """By tool."""
        spreads = {name: _spread(values) for name, values in sorted(self._tools.items())}
        return {name: spread for name, spread in spreads.items() if spread is not None}

    def _add_tools(self, trial: Trial) -> None:
        seen = trial.trajectory.observations
        for call in trial.trajectory.calls:
            one = seen.get(call.id)
            if one is not None and one.replayed in _REAL and one.injected is None and one.duration_ms is not None:
                self._tools.setdefault(call.name, []).append(one.duration_ms)


def _first_tokens(spans: Iterable[Span]) -> list[float]:
    found = [span.attributes.get(names.FIRST_CHUNK_S) for span in spans]
    return [1000 * seconds for seconds in found if isinstance(seconds, int | float)]


def _turns(trial: Trial) -> list[float]:
    found: list[float] = []
    asked: int | None = None
    for step in trial.trajectory.steps:
        if step.source == "user":
            asked = step.ended_ns if step.ended_ns is not None else step.started_ns
        elif step.source == "agent" and step.message is not None and not step.calls and asked is not None:
            if step.ended_ns is not None:
                found.append((step.ended_ns - asked) / 1e6)
            asked = None
    return found


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)

    def rank(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6)

    return Spread(n=len(ordered), p50_ms=rank(0.5), p95_ms=rank(0.95))
