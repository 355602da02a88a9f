"""The parts of the soak: each knows its rows, and about how long they take."""

import importlib
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass

from qa.soak.rows import Row

Rows = Callable[[random.Random, float], Generator[Row, None, None]]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows that belong together."""

    rows: Rows
    """Given the source of all chance and a scale (0.1 tries a tenth), each row as soon as it is known."""
    minutes: float
    """About how long they take at scale 1 on two processors that do nothing else."""
    least_minutes: float
    """The same at the smallest scale."""

    def takes_minutes(self, scale: float) -> float:
        return max(self.minutes * scale, self.least_minutes)


def of_module(name: str) -> Rows:
    """The module's `rows`; it is imported when they are asked for."""

    def rows(random: random.Random, scale: float) -> Generator[Row, None, None]:
        yield from importlib.import_module(name).rows(random, scale)

    return rows


PARTS = {
    "escape": Part(rows=of_module("qa.soak.escapes"), minutes=4, least_minutes=1),
    "secrets": Part(rows=of_module("qa.soak.secrets"), minutes=0.5, least_minutes=0.4),
    "received secrets": Part(rows=of_module("qa.soak.attacks.receiving"), minutes=0.4, least_minutes=0.2),
    "forged evidence": Part(rows=of_module("qa.soak.attacks.forging"), minutes=0.5, least_minutes=0.15),
    "forged order": Part(rows=of_module("qa.soak.attacks.crossing"), minutes=1, least_minutes=0.1),
    "disguised writes": Part(rows=of_module("qa.soak.attacks.disguises"), minutes=1, least_minutes=0.1),
    "outages": Part(rows=of_module("qa.soak.attacks.outages"), minutes=4, least_minutes=1),
    "side by side": Part(rows=of_module("qa.soak.attacks.side_by_side"), minutes=3, least_minutes=2),
    "hiding agents": Part(rows=of_module("qa.soak.attacks.hiding"), minutes=2.5, least_minutes=0.5),
    "hostile run folders": Part(rows=of_module("qa.soak.attacks.folders"), minutes=2, least_minutes=0.3),
    "model endpoint": Part(rows=of_module("qa.soak.attacks.model_requests"), minutes=0.2, least_minutes=0.1),
    "paths": Part(rows=of_module("qa.soak.attacks.paths"), minutes=1.0, least_minutes=0.2),
    "redirects": Part(rows=of_module("qa.soak.attacks.redirects"), minutes=2, least_minutes=0.8),
    "imports": Part(rows=of_module("qa.soak.attacks.imports"), minutes=1.5, least_minutes=0.5),
    "telemetry": Part(rows=of_module("qa.soak.attacks.telemetry"), minutes=1.0, least_minutes=0.3),
    "kill": Part(rows=of_module("qa.soak.kills"), minutes=10, least_minutes=1),
    "load": Part(rows=of_module("qa.soak.load"), minutes=8, least_minutes=1.5),
    "faults": Part(rows=of_module("qa.soak.faults"), minutes=16, least_minutes=5),
    "fuzz": Part(rows=of_module("qa.soak.fuzzing"), minutes=10, least_minutes=0.5),
}
