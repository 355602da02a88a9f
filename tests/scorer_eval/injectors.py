"""Failures put into successful runs by program, so that recall can be counted where nobody labelled anything.

Each injector takes a run and a seeded generator and gives the changed evidence with the step at which the failure
begins, or None where the run has nothing to take hold of. Step indices are renumbered by place.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from corpus import Run

from harness.frozen import JsonValue
from harness.score.failures import Failure
from harness.score.failures.grounding import identifiers
from harness.score.values import Evidence
from harness.trace import Observation, Step, ToolCall

_NEW_TOOLS = ("lookup_customer_history", "fetch_account_overview", "get_policy_document", "verify_eligibility")
_NEW_PARAMETERS = ("force", "notify_customer", "priority", "include_history")
_DONE = "Everything you asked for has been taken care of. Is there anything else?"


@dataclass(frozen=True, kw_only=True)
class Injected:
    """Evidence with a failure in it."""

    failure: Failure
    variant: str
    origin: int
    evidence: Evidence


Injector = Callable[[Run, random.Random, Sequence[Run]], Injected | None]


def repeat_a_cycle(run: Run, rng: random.Random, _: Sequence[Run]) -> Injected | None:
    """1 to 4 successive calls, repeated 2 to 5 more times with the same answers."""
    steps = _steps(run)
    blocks = []
    for length in (1, 2, 3, 4):
        for start in range(len(steps) - length + 1):
            block = steps[start : start + length]
            if all(_calls(step) for step in block) and sum(len(step.calls) for step in block) <= 4:
                blocks.append((start, length))
    if not blocks:
        return None
    start, length = rng.choice(blocks)
    end = start + length
    copies = [step for _ in range(rng.randint(2, 5)) for step in steps[start:end]]
    changed = [*steps[:end], *copies, *steps[end:]]
    return _injected(run, "loop_trap", f"period {length}", end, changed)


def splice_another_task(run: Run, rng: random.Random, others: Sequence[Run]) -> Injected | None:
    """The first 2 to 4 calls of another user's task, in the same domain where its users differ, else in another."""
    steps = _steps(run)
    places = [place for place in range(2, len(steps)) if steps[place].source == "agent"]
    donors = [other for other in others if _strangers(run, other)]
    rng.shuffle(donors)
    for donor in donors:
        calls = [step for step in _steps(donor) if _calls(step)][: rng.randint(2, 4)]
        if len(calls) < 2 or not places:
            continue
        place = rng.choice(places)
        changed = [*steps[:place], *calls, *steps[place:]]
        known = {tool.name for tool in run.evidence.tools}
        tools = (*run.evidence.tools, *(tool for tool in donor.evidence.tools if tool.name not in known))
        kind = "same domain" if donor.domain == run.domain else "another domain"
        return _injected(run, "goal_drift", kind, place, changed, tools=tools)
    return None


def commit_early(run: Run, rng: random.Random, _: Sequence[Run]) -> Injected | None:
    """Drop the reads before a write, or stop before the last write of the reference and claim that all is done."""
    variants = [_drop_reads, _stop_half_way]
    rng.shuffle(variants)
    return next((found for variant in variants if (found := variant(run, rng)) is not None), None)


def invent(run: Run, rng: random.Random, _: Sequence[Run]) -> Injected | None:
    """A tool, a parameter, a call that is claimed and was not made, or a result."""
    variants = [_invented_tool, _invented_parameter, _claimed_call, _fabricated_result]
    rng.shuffle(variants)
    return next((found for variant in variants if (found := variant(run, rng)) is not None), None)


def corrupt_and_carry(run: Run, rng: random.Random, _: Sequence[Run]) -> Injected | None:
    """One identifier is changed in one or two characters where a call uses it, and so from there on."""
    steps = _steps(run)
    uses: dict[str, list[int]] = {}
    for place, step in enumerate(steps):
        said = set() if step.source != "agent" else {w for w in uses if step.message and w in step.message}
        for value in dict.fromkeys([*said, *(v for call in _calls(step) for v in identifiers(call.arguments))]):
            uses.setdefault(value, []).append(place)
    carried = sorted((value, places[:-1]) for value, places in uses.items() if len(places) > 1)
    if not carried:
        return None
    value, starts = rng.choice(carried)
    start = rng.choice(
        [place for place in starts if any(value in identifiers(c.arguments) for c in steps[place].calls)]
    )
    wrong = _corrupted(value, rng)
    changed = [_replaced(step, value, wrong) if place >= start else step for place, step in enumerate(steps)]
    return _injected(run, "cascading_error", "one identifier", start, changed)


ALL: dict[Failure, Injector] = {
    "loop_trap": repeat_a_cycle,
    "goal_drift": splice_another_task,
    "premature_commitment": commit_early,
    "tool_hallucination": invent,
    "cascading_error": corrupt_and_carry,
}


def _drop_reads(run: Run, rng: random.Random) -> Injected | None:
    steps = _steps(run)
    writes = [place for place, step in enumerate(steps) if any(_aimed(run, call) for call in _good(step))]
    if not writes:
        return None
    place = rng.choice(writes)
    kept = [step for step in steps[:place] if not _calls(step)]
    return _injected(run, "premature_commitment", "reads dropped", len(kept), [*kept, *steps[place:]])


def _stop_half_way(run: Run, _: random.Random) -> Injected | None:
    steps = _steps(run)
    needed = {call.tool for call in run.evidence.case.reference or () if _writes(run, call.tool)}
    made = [place for place, step in enumerate(steps) if any(call.name in needed for call in step.calls)]
    if not made:
        return None
    kept = steps[: made[-1]]
    end = Step(index=0, source="agent", message=_DONE)
    return _injected(run, "premature_commitment", "stopped half-way", len(kept), [*kept, end])


def _invented_tool(run: Run, rng: random.Random) -> Injected | None:
    return _with_call(run, rng, "invented tool", lambda call: call.model_copy(update={"name": rng.choice(_NEW_TOOLS)}))


def _invented_parameter(run: Run, rng: random.Random) -> Injected | None:
    def extended(call: ToolCall) -> ToolCall:
        return call.model_copy(update={"arguments": {**(call.arguments or {}), rng.choice(_NEW_PARAMETERS): True}})

    return _with_call(run, rng, "invented parameter", extended)


def _with_call(run: Run, rng: random.Random, variant: str, change: Callable[[ToolCall], ToolCall]) -> Injected | None:
    steps = _steps(run)
    places = [place for place, step in enumerate(steps) if _calls(step)]
    if not places:
        return None
    place = rng.choice(places)
    calls = (change(steps[place].calls[0]), *steps[place].calls[1:])
    changed = [*steps[:place], steps[place].model_copy(update={"calls": calls}), *steps[place + 1 :]]
    return _injected(run, "tool_hallucination", variant, place, changed)


def _claimed_call(run: Run, _: random.Random) -> Injected | None:
    """Every write is taken out; what the agent itself said of the last one stays, its next message being the origin."""
    steps = _steps(run)
    writes = [place for place, step in enumerate(steps) if any(_writes(run, call.name) for call in _good(step))]
    told = next((place for place in range(writes[-1] + 1, len(steps)) if _says(steps[place])), None) if writes else None
    if told is None:
        return None
    kept = [place for place, step in enumerate(steps) if not any(_writes(run, call.name) for call in _calls(step))]
    return _injected(run, "tool_hallucination", "claimed call", kept.index(told), [steps[place] for place in kept])


def _says(step: Step) -> bool:
    return step.source == "agent" and len(step.message or "") > len("###STOP###") and not step.calls


def _fabricated_result(run: Run, rng: random.Random) -> Injected | None:
    steps = _steps(run)
    places = [place for place, step in enumerate(steps) if step.source == "agent" and step.message and place > 1]
    if not places:
        return None
    place = rng.choice(places)
    code = "".join(rng.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(3)) + str(rng.randint(1000, 9999))
    message = f"{steps[place].message} Your reference for this is {code}."
    changed = [*steps[:place], steps[place].model_copy(update={"message": message}), *steps[place + 1 :]]
    return _injected(run, "tool_hallucination", "fabricated result", place, changed)


def _corrupted(value: str, rng: random.Random) -> str:
    places = [place for place, char in enumerate(value) if char.isdigit()] or list(range(1, len(value)))
    for place in rng.sample(places, min(len(places), rng.randint(1, 2))):
        pool = "0123456789" if value[place].isdigit() else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        value = value[:place] + rng.choice([char for char in pool if char != value[place].upper()]) + value[place + 1 :]
    return value


def _replaced(step: Step, value: str, wrong: str) -> Step:
    if step.source != "agent":
        return step
    return step.model_copy(
        update={
            "message": step.message and step.message.replace(value, wrong),
            "calls": tuple(
                call.model_copy(update={"arguments": _in_value(call.arguments, value, wrong)}) for call in step.calls
            ),
            "observations": tuple(
                seen.model_copy(update={"content": _in_value(seen.content, value, wrong)}) for seen in step.observations
            ),
        }
    )


def _in_value(content: JsonValue, value: str, wrong: str) -> Any:
    match content:
        case str():
            return content.replace(value, wrong)
        case dict():
            return {key.replace(value, wrong): _in_value(item, value, wrong) for key, item in content.items()}
        case list():
            return [_in_value(item, value, wrong) for item in content]
        case _:
            return content


def _steps(run: Run) -> list[Step]:
    return list(run.evidence.trial.trajectory.steps)


def _calls(step: Step) -> tuple[ToolCall, ...]:
    return step.calls if step.source == "agent" and len(step.observations) == len(step.calls) else ()


def _good(step: Step) -> list[ToolCall]:
    pairs: Iterable[tuple[ToolCall, Observation]] = zip(_calls(step), step.observations, strict=False)
    return [call for call, seen in pairs if seen.error is None]


def _writes(run: Run, name: str) -> bool:
    return any(tool.name == name and tool.effect == "write" for tool in run.evidence.tools)


def _aimed(run: Run, call: ToolCall) -> bool:
    return _writes(run, call.name) and bool(identifiers(call.arguments))


def _strangers(run: Run, other: Run) -> bool:
    if run.domain == "telecom":  # all of its tasks are about one customer
        return other.domain != "telecom"
    return other.domain == run.domain and other.label["user"] != run.label["user"]


def _injected(
    run: Run, failure: Failure, variant: str, origin: int, steps: Sequence[Step], *, tools: Any = None
) -> Injected:
    numbered = tuple(step.model_copy(update={"index": place}) for place, step in enumerate(steps))
    final = next((step.message for step in reversed(numbered) if step.source == "agent" and step.message), None)
    trajectory = run.evidence.trial.trajectory.model_copy(update={"steps": numbered, "final_output": final})
    trial = run.evidence.trial.model_copy(update={"trajectory": trajectory})
    evidence = run.evidence.model_copy(update={"trial": trial, "tools": tools or run.evidence.tools})
    return Injected(failure=failure, variant=variant, origin=origin, evidence=evidence)
