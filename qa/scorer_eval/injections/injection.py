"""What injectors share: the changed evidence, and how a run's steps are taken apart and put together again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import JsonValue
from sources import Labelled
from wrong_writes import NO_EFFECT

from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Failure
from harness.traces.trajectory import Observation, Step, ToolCall


@dataclass(frozen=True, kw_only=True)
class Injected:
    """Evidence with a failure in it."""

    failure: Failure
    variant: str
    origin: int
    evidence: Evidence


Injector = Callable[[Labelled, Random, Sequence[Labelled]], Injected | None]


def steps_of(run: Labelled) -> list[Step]:
    return list(run.evidence.trial.trajectory.steps)


def calls_of(step: Step) -> tuple[ToolCall, ...]:
    return step.calls if step.source == "agent" and len(step.observations) == len(step.calls) else ()


def good_calls(step: Step) -> list[ToolCall]:
    pairs: Iterable[tuple[ToolCall, Observation]] = zip(calls_of(step), step.observations, strict=False)
    return [call for call, seen in pairs if seen.error is None]


def writes_by(run: Labelled, name: str) -> bool:
    return name not in NO_EFFECT and any(tool.name == name and tool.effect == "write" for tool in run.evidence.tools)


def declares_tools(run: Labelled) -> bool:
    """Whether somebody declared the run's tools: else nobody can tell an invented one, or an invented parameter."""
    return all("properties" in tool.parameters for tool in run.evidence.tools)


def put_for(content: JsonValue, value: str, wrong: str) -> Any:
    match content:
        case str():
            return content.replace(value, wrong)
        case dict():
            return {key.replace(value, wrong): put_for(item, value, wrong) for key, item in content.items()}
        case list():
            return [put_for(item, value, wrong) for item in content]
        case _:
            return content


def injected_into(
    run: Labelled, failure: Failure, variant: str, origin: int, steps: Sequence[Step], *, tools: Any = None
) -> Injected:
    numbered = tuple(step.model_copy(update={"index": place}) for place, step in enumerate(steps))
    final = next((step.message for step in reversed(numbered) if step.source == "agent" and step.message), None)
    trajectory = run.evidence.trial.trajectory.model_copy(update={"steps": numbered, "final_output": final})
    blind = run.blind
    trial = blind.trial.model_copy(update={"trajectory": trajectory})
    evidence = blind.model_copy(update={"trial": trial, "tools": tools or blind.tools})
    return Injected(failure=failure, variant=variant, origin=origin, evidence=evidence)
