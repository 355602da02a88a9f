"""How often noise is taken for drift, and drift for noise: simulated tools, the product's own judgement.

Each tool has steady fields and noisy ones: new in every answer, in every other, in three of ten, rarely, every day, and
members that are there sometimes. It is recorded once, learned on some days, and probed on a later day: once as it was,
and once with something removed, another type, another value and something added.
"""

import asyncio
import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import CallKey, initial_state, key_digest
from harness.cassettes.profiles import ToolProfile
from harness.cassettes.recordings import Mark, Recording
from harness.drift.learning import ProbeSession, learned
from harness.drift.observations import OperationIndex, findings_of
from harness.drift.probe import ProbeReply, probe
from harness.drift.replayable import ReplayableRead
from harness.gateway.upstream.sources import ToolRequest
from harness.runs.store.drift_report import DriftFinding
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.values import JsonObject

FIRST = date(2026, 3, 1)
INJECTED = {
    "removed": ("schema.removed", "steady0"),
    "type": ("schema.type_changed", "steady1"),
    "value": ("value.changed", "steady2"),
    "added": ("schema.added", "fresh"),
}
STEADY = 12


@dataclass
class Tool:
    """One simulated tool; what it answers depends on the day and on chance."""

    chance: random.Random
    drifted: bool = False

    def __post_init__(self) -> None:
        self.noisy = {f"p{number}": self.chance.choice((1.0, 0.5, 0.3, 0.05)) for number in range(5)}
        self.optional = {f"o{number}": self.chance.choice((0.5, 0.8, 0.95)) for number in range(2)}
        self.base = self.chance.randrange(10_000)

    def answer(self, day: date) -> JsonObject:
        told: JsonObject = {f"steady{number}": self.base + number for number in range(STEADY)}
        told["daily"] = (day - FIRST).days + self.base
        for name, often in self.noisy.items():
            told[name] = self.chance.randrange(1_000_000) if self.chance.random() < often else 0
        told |= {name: "here" for name, often in self.optional.items() if self.chance.random() < often}
        return self._drifted(told) if self.drifted else told

    def _drifted(self, told: JsonObject) -> JsonObject:
        del told["steady0"]
        return told | {"steady1": f"{told['steady1']}", "steady2": -1, "fresh": True}


SPEC = ToolSpec.model_validate({"name": "t", "effect": "read", "server": "s", "http": {"path": "/"}})
SUITE = Suite(
    name="s",
    folder=Path(),
    agents={"a": AgentVersion.model_validate({"command": ["a"], "files": "a"})},
    tools=(SPEC,),
    cases=(Case(id="c", task="t"),),
    digest="",
)
KEY = CallKey(server="s", tool="t", effect="read", arguments="{}", key=key_digest("t", "{}"))
MARK = Mark(server="s", tool="t", effect="read", key=KEY.key, state=initial_state("s"), writes=0, occurrence=0)


def recording(value: JsonObject) -> Recording:
    return Recording(mark=MARK, arguments="{}", status=200, body=json.dumps(value).encode())


class Simulated:
    """Answers as a prober does."""

    def __init__(self, tool: Tool, day: date) -> None:
        self._tool, self._day = tool, day

    async def send(self, ask: ReplayableRead) -> ProbeReply:
        return ProbeReply(recording=recording(self._tool.answer(self._day)))


@dataclass(frozen=True)
class Baseline:
    """What was known before the probe: samples on the first day, and one on each of `days` others."""

    now: int
    days: int


def looked_at(tool: Tool, baseline: Baseline) -> tuple[tuple[DriftFinding, ...], tuple[DriftFinding, ...]]:
    """What a probe ten days later finds in the tool as it was, and as it is after a change."""
    cassette = Cassette([recording(tool.answer(FIRST))])
    profile = ToolProfile(tool="t")
    for day, samples in [(0, baseline.now), *((number + 1, 1) for number in range(baseline.days))]:
        if samples:
            when = FIRST + timedelta(days=day)
            book = OperationIndex(SUITE, {"c": cassette}, {"t": profile})
            looks = _probed(tool, when, cassette, book, samples)
            profile = learned(profile, looks, book.rules("t"), ProbeSession(day=when, shape=True))
    book = OperationIndex(SUITE, {"c": cassette}, {"t": profile})
    later = FIRST + timedelta(days=20)
    clean, _ = findings_of(_probed(tool, later, cassette, book, 1))
    tool.drifted = True
    changed, _ = findings_of(_probed(tool, later, cassette, book, 1))
    return clean, changed


def _probed(tool: Tool, day: date, cassette: Cassette, book: OperationIndex, samples: int):
    ask = ReplayableRead(recordings={"c": cassette.recordings[0]}, call=ToolRequest(tool=SPEC, arguments={}, key=KEY))
    return asyncio.run(probe(Simulated(tool, day), [ask], book, samples=samples)).observations


@dataclass(frozen=True)
class Row:
    """Shares of the tools."""

    false: float
    found: dict[str, float]


def simulate(baseline: Baseline, tools: int, seed: int = 1) -> Row:
    false = 0
    found = dict.fromkeys(INJECTED, 0)
    for number in range(tools):
        clean, changed = looked_at(Tool(random.Random(f"{seed}.{number}")), baseline)
        # What nobody would be called for is not a false report: a member that is new is told as `info`.
        false += any(one.severity != "info" for one in clean)
        places = {(one.change, one.path) for one in changed}
        for name, place in INJECTED.items():
            found[name] += place in places
    shares = {name: count / tools for name, count in found.items()}
    return Row(false / tools, shares)
