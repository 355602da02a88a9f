"""Figures of a bench as lines, with the promises that they are held against."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Target:
    """A promise, and how a figure is held against it."""

    figure: str
    bound: float
    least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.bound if self.least else value <= self.bound

    def told(self, value: float) -> str:
        words = "at least" if self.least else "at most"
        return f"{'met' if self.met(value) else 'NOT MET'} ({words} {self.bound:.3g})"


def show(figures: Mapping[str, float], targets: Sequence[Target]) -> None:
    """Every figure, and whether the promise that it belongs to is kept; what else the machine did stands above."""
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    promised = {target.figure: target for target in targets}
    for name, value in figures.items():
        target = promised.get(name)
        print(f"  {name:52} {value:10.3f}   {'' if target is None else target.told(value)}".rstrip())
