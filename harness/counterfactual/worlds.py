"""What a trial left behind, made comparable: the world at its end, and its answer.

The world is what the suite's probes read and the files that the agent changed. Where a suite has no probe, the writes
that succeeded stand for it. Values that differ between two unchanged trials are volatile, and left out of all.
"""

from harness.case import ToolSpec
from harness.trace import Trial
from harness.values import Frozen, JsonObject, JsonValue, canonical_json

_VOLATILE = "<volatile>"


class Difference(Frozen):
    """One place where two worlds differ."""

    part: str
    """`probe`, `files`, `writes` or `answer`."""
    name: str = ""
    """Name of the probe."""
    path: str = ""
    """JSON pointer within the part."""
    before: JsonValue = None
    after: JsonValue = None

    @property
    def words(self) -> str:
        """The difference in a report's words."""
        place = f"{self.part} {self.name}{self.path}".strip()
        return f"{place}: {canonical_json(self.before)[:80]} -> {canonical_json(self.after)[:80]}"


def world_of(trial: Trial, tools: tuple[ToolSpec, ...], *, has_probes: bool) -> JsonObject:
    """The end of a trial as one value."""
    changes = () if trial.end_state is None else trial.end_state.changes
    files: JsonObject = {one.path: [one.change, one.kind, one.sha256, one.link] for one in changes}
    world: JsonObject = {"files": files, "answer": trial.trajectory.final_output}
    if has_probes:
        return {**world, "probe": dict(trial.states)}
    return {**world, "writes": writes_of(trial, tools)}


def writes_of(trial: Trial, tools: tuple[ToolSpec, ...]) -> list[JsonValue]:
    """The writes that succeeded, in their order."""
    effects = {tool.name: tool.effect for tool in tools}
    seen = trial.trajectory.observations
    return [
        {"tool": call.name, "arguments": call.arguments}
        for call in trial.trajectory.calls
        if effects.get(call.name) == "write" and call.id in seen and seen[call.id].error is None
    ]


def without_volatile_values(world: JsonValue, other: JsonValue) -> JsonValue:
    """The world, where values in which an unchanged trial's differs are replaced by one mark."""
    match world, other:
        case dict(), dict():
            return {name: without_volatile_values(value, other.get(name)) for name, value in world.items()}
        case list(), list() if len(world) == len(other):
            return [without_volatile_values(one, two) for one, two in zip(world, other, strict=True)]
        case _:
            return world if canonical_json(world) == canonical_json(other) else _VOLATILE


def first_difference(before: JsonValue, after: JsonValue, path: str = "") -> tuple[str, JsonValue, JsonValue] | None:
    """Where two values differ first: a JSON pointer, and both values there. A volatile value equals every other."""
    if before == _VOLATILE or canonical_json(before) == canonical_json(after):
        return None
    match before, after:
        case dict(), dict() if set(before) == set(after):
            for name in before:
                found = first_difference(before[name], after[name], f"{path}/{_escaped(name)}")
                if found is not None:
                    return found
        case list(), list() if len(before) == len(after):
            for index, (one, two) in enumerate(zip(before, after, strict=True)):
                found = first_difference(one, two, f"{path}/{index}")
                if found is not None:
                    return found
        case _:
            return path, before, after
    return None


def difference(before: JsonObject, after: JsonObject) -> Difference | None:
    """The first difference of two worlds, the state before the files before the answer; None: they are the same."""
    for part in ("probe", "writes", "files", "answer"):
        if part not in before:
            continue
        if part == "probe":
            probes, others = before[part], after.get(part)
            assert isinstance(probes, dict)
            assert isinstance(others, dict)
            for name in probes:
                found = first_difference(probes[name], others.get(name))
                if found is not None:
                    return Difference(part=part, name=name, path=found[0], before=found[1], after=found[2])
            continue
        found = first_difference(before[part], after.get(part))
        if found is not None:
            return Difference(part=part, path=found[0], before=found[1], after=found[2])
    return None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
