"""Logistic regression over named features, by Newton's iteration with a ridge: for a run, and for one step of many."""

from collections.abc import Mapping, Sequence
from math import exp

Features = Mapping[str, float]
RIDGE = 10.0
"""Of features in units of their standard deviation."""
_ROUNDS = 25


class Scale:
    """Means and standard deviations of features."""

    def __init__(self, rows: Sequence[Features]) -> None:
        self.names = sorted(rows[0])
        size = len(rows)
        self.mean = {name: sum(row[name] for row in rows) / size for name in self.names}
        self.deviation = {
            name: (sum((row[name] - self.mean[name]) ** 2 for row in rows) / size) ** 0.5 or 1.0 for name in self.names
        }

    def vector(self, row: Features) -> list[float]:
        """In the order of the names."""
        return [(row[name] - self.mean[name]) / self.deviation[name] for name in self.names]


def logistic(rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> list[float]:
    """Weights, the constant last."""
    vectors = [[*row, 1.0] for row in rows]
    weights = [0.0] * len(vectors[0])
    for _ in range(_ROUNDS):
        slope, curve = _start(weights, free=1)
        for vector, label in zip(vectors, labels, strict=True):
            chance = 1 / (1 + exp(-max(-30.0, min(30.0, dot(weights, vector)))))
            _add(slope, curve, vector, label - chance, chance * (1 - chance))
        weights = [one + change for one, change in zip(weights, solved(curve, slope), strict=True)]
    return weights


def choice(groups: Sequence[tuple[Sequence[Sequence[float]], int]]) -> list[float]:
    """Weights for choosing the right one of each group's rows (a conditional logit)."""
    weights = [0.0] * len(groups[0][0][0])
    for _ in range(_ROUNDS):
        slope, curve = _start(weights, free=0)
        for rows, right in groups:
            chances = softmax([dot(weights, row) for row in rows])
            mean = [
                sum(chance * row[k] for chance, row in zip(chances, rows, strict=True)) for k in range(len(weights))
            ]
            _add(slope, curve, [one - middle for one, middle in zip(rows[right], mean, strict=True)], 1.0, 0.0)
            for chance, row in zip(chances, rows, strict=True):
                off = [one - middle for one, middle in zip(row, mean, strict=True)]
                _add(slope, curve, off, 0.0, chance)
        weights = [one + change for one, change in zip(weights, solved(curve, slope), strict=True)]
    return weights


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Of vectors of one length."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def softmax(values: Sequence[float]) -> list[float]:
    """Chances that add up to 1."""
    top = max(values)
    raised = [exp(one - top) for one in values]
    return [one / sum(raised) for one in raised]


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Of a positive definite system, by elimination."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(size):
        for below in range(k + 1, size):
            factor = rows[below][k] / rows[k][k]
            rows[below] = [low - factor * high for low, high in zip(rows[below], rows[k], strict=True)]
    found = [0.0] * size
    for k in reversed(range(size)):
        found[k] = (rows[k][size] - dot(rows[k][k + 1 : size], found[k + 1 :])) / rows[k][k]
    return found


def _start(weights: Sequence[float], free: int) -> tuple[list[float], list[list[float]]]:
    """Of the ridge alone; the last `free` weights are nearly without it."""
    size = len(weights)
    ridge = [RIDGE if k < size - free else 1e-3 for k in range(size)]
    curve = [[ridge[k] if k == other else 0.0 for other in range(size)] for k in range(size)]
    return [-r * w for r, w in zip(ridge, weights, strict=True)], curve


def _add(slope: list[float], curve: list[list[float]], vector: Sequence[float], push: float, bend: float) -> None:
    for k, one in enumerate(vector):
        slope[k] += push * one
        if bend:
            row = curve[k]
            for other, value in enumerate(vector):
                row[other] += bend * one * value
