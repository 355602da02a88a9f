"""A suite's declared composite: one figure computed from several, weighted as the suite declares."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from harness.case import CompositePart
from harness.score.scorecard import Score

NAME: Final = "composite"
_VERSION: Final = "1"


def composite_score(parts: Mapping[str, CompositePart], scores: Sequence[Score]) -> Score:
    """Sum of weight x figure / sum of the weights; 0 to 1 where the figures are.

    A part with `worst` and `best` is first scaled between these two to the range from 0 to 1, and clipped, so that cost
    or tokens can be combined with shares. None where one of the parts is not known: leaving it out would change the
    weights of the others.
    """
    values = {score.metric: score.value for score in scores}
    total = math.fsum(part.weight for part in parts.values())
    found = {name: values.get(name) for name in parts}
    known = {name: _scaled(parts[name], value) for name, value in found.items() if value is not None}
    unknown = sorted(name for name, value in found.items() if value is None)
    if unknown:
        return Score(metric=NAME, version=_VERSION, value=None, explanation=f"not known: {', '.join(unknown)}")
    value = math.fsum(parts[name].weight * known[name] for name in parts) / total
    words = ", ".join(f"{parts[name].weight / total:.2g} x {name} {known[name]:.3g}" for name in parts)
    return Score(metric=NAME, version=_VERSION, value=value, explanation=words)


def _scaled(part: CompositePart, value: float) -> float:
    if part.best is None or part.worst is None:
        return value
    return min(1.0, max(0.0, (value - part.worst) / (part.best - part.worst)))
