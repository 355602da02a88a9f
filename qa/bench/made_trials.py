"""Trials of a dozen calls with pages for answers, as tau2's are, for where the real ones are absent."""

from collections.abc import Iterator

from harness.scoring.evidence import Evidence
from harness.suite.cases import Case, ReferenceCall
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial

_SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}, "note": {"type": "string"}}}
_PAGE = {f"field_{n}": {"id": f"AB{n:05d}", "price": n + 0.5, "words": "as long as such answers are"} for n in range(9)}


def made(count: int = 200) -> Iterator[tuple[str, Evidence]]:
    """(domain, evidence) of each."""
    tools = tuple(_tool(f"tool_{n}", writes=n % 3 == 0) for n in range(13))
    for number in range(count):
        reference = (ReferenceCall(id="1", tool=f"tool_{(number + 1) % 13}", arguments={"id": "AB00001"}),)
        case = Case(id=f"made-{number}", task="Please see to AB00001.", reference=reference)
        steps = tuple(_step(number, place) for place in range(24))
        trajectory = Trajectory(trace_id=case.id, agent="made", steps=steps)
        trial = Trial(case_id=case.id, attempt=1, outcome="finished", trajectory=trajectory)
        yield "made", Evidence(case=case, trial=trial, tools=tools)


def _step(number: int, place: int) -> Step:
    if place % 2 == 0:
        said = "I have found what you asked for, AB00001, and will go on." if place % 4 else "Please go on."
        return Step(index=place, source="agent" if place % 4 else "user", message=said)
    call = ToolCall(
        id=str(place),
        name=f"tool_{(number + place) % 13}",
        arguments={"id": f"AB{place % 9:05d}", "note": "for the guest"},
    )
    error = ToolFailure(type="tool_error", message="it failed") if place % 11 == 10 else None
    seen = Observation(call_id=str(place), content=dict(_PAGE), error=error)
    return Step(index=place, source="agent", calls=(call,), observations=(seen,))


def _tool(name: str, *, writes: bool) -> ToolSpec:
    return ToolSpec(
        name=name,
        description="",
        parameters=dict(_SCHEMA),
        effect="write" if writes else "read",
        server="made",
        http=HttpRoute(path="/"),
    )
