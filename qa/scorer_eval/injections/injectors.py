"""Failures put into successful runs by program, so that recall can be counted where nobody labelled anything.

Each injector takes a run and a seeded generator and gives the changed evidence with the step at which the failure
begins, or None where the run has nothing to take hold of. Step indices are renumbered by place.
"""

import random
from collections.abc import Callable, Sequence

from injections.carrying import corrupt_and_carry
from injections.injection import (
    Injected,
    Injector,
    calls_of,
    declares_tools,
    good_calls,
    injected_into,
    put_for,
    steps_of,
    writes_by,
)
from sources import Labelled

from harness.scoring.failures.grounding import identifiers
from harness.scoring.scorecard import Failure
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure

_NEW_TOOLS = ("lookup_customer_history", "fetch_account_overview", "get_policy_document", "verify_eligibility")
_NEW_PARAMETERS = ("force", "notify_customer", "priority", "include_history")
_DONE = "Everything you asked for has been taken care of. Is there anything else?"


def repeat_a_cycle(run: Labelled, rng: random.Random, _: Sequence[Labelled]) -> Injected | None:
    """1 to 4 successive calls, repeated 2 to 5 more times with the same answers."""
    steps = steps_of(run)
    blocks = []
    for length in (1, 2, 3, 4):
        for start in range(len(steps) - length + 1):
            block = steps[start : start + length]
            if all(calls_of(step) for step in block) and sum(len(step.calls) for step in block) <= 4:
                blocks.append((start, length))
    if not blocks:
        return None
    start, length = rng.choice(blocks)
    end = start + length
    copies = [step for _ in range(rng.randint(2, 5)) for step in steps[start:end]]
    changed = [*steps[:end], *copies, *steps[end:]]
    return injected_into(run, "loop_trap", f"period {length}", end, changed)


def splice_another_task(run: Labelled, rng: random.Random, others: Sequence[Labelled]) -> Injected | None:
    """The first 2 to 4 calls of another user's task, in the same domain where its users differ, else in another."""
    steps = steps_of(run)
    places = [place for place in range(2, len(steps)) if steps[place].source == "agent"]
    donors = [other for other in others if _strangers(run, other)]
    rng.shuffle(donors)
    for donor in donors:
        calls = [step for step in steps_of(donor) if calls_of(step)][: rng.randint(2, 4)]
        if len(calls) < 2 or not places:
            continue
        place = rng.choice(places)
        changed = [*steps[:place], *calls, *steps[place:]]
        known = {tool.name for tool in run.evidence.tools}
        tools = (*run.evidence.tools, *(tool for tool in donor.evidence.tools if tool.name not in known))
        kind = "same domain" if donor.domain == run.domain else "another domain"
        return injected_into(run, "goal_drift", kind, place, changed, tools=tools)
    return None


def commit_early(run: Labelled, rng: random.Random, _: Sequence[Labelled]) -> Injected | None:
    """Drop the reads before a write, stop before the reference's last write and claim that all is done, or guess.

    A guess is put in where nothing else can be: it is the easiest to find.
    """
    variants = [_drop_reads, _stop_half_way]
    rng.shuffle(variants)
    return next((found for variant in (*variants, _guess) if (found := variant(run, rng)) is not None), None)


def invent(run: Labelled, rng: random.Random, _: Sequence[Labelled]) -> Injected | None:
    """A tool, a parameter, a call that is claimed and was not made, or a result."""
    variants = [_claimed_call, _fabricated_result]
    variants += [_invented_tool, _invented_parameter] if declares_tools(run) else []
    rng.shuffle(variants)
    return next((found for variant in variants if (found := variant(run, rng)) is not None), None)


ALL: dict[Failure, Injector] = {
    "loop_trap": repeat_a_cycle,
    "goal_drift": splice_another_task,
    "premature_commitment": commit_early,
    "tool_hallucination": invent,
    "cascading_error": corrupt_and_carry,
}


def _drop_reads(run: Labelled, rng: random.Random) -> Injected | None:
    steps = steps_of(run)
    writes = [place for place, step in enumerate(steps) if any(_aimed(run, call) for call in good_calls(step))]
    if not writes:
        return None
    place = rng.choice(writes)
    kept = [step for step in steps[:place] if not calls_of(step)]
    return injected_into(run, "premature_commitment", "reads dropped", len(kept), [*kept, *steps[place:]])


def _stop_half_way(run: Labelled, _: random.Random) -> Injected | None:
    steps = steps_of(run)
    needed = {call.tool for call in run.evidence.case.reference or () if writes_by(run, call.tool)}
    made = [place for place, step in enumerate(steps) if any(call.name in needed for call in step.calls)]
    if not made:
        return None
    kept = steps[: made[-1]]
    end = Step(index=0, source="agent", message=_DONE)
    return injected_into(run, "premature_commitment", "stopped half-way", len(kept), [*kept, end])


def _guess(run: Labelled, rng: random.Random) -> Injected | None:
    """Before a call that names something, the same call with a made-up name, which the tool does not know."""
    steps = steps_of(run)
    places = [place for place, step in enumerate(steps) if any(identifiers(call.arguments) for call in calls_of(step))]
    if not places:
        return None
    place = rng.choice(places)
    right = next(call for call in calls_of(steps[place]) if identifiers(call.arguments))
    value = rng.choice(identifiers(right.arguments))
    guessed = right.model_copy(update={"id": "guess", "arguments": put_for(right.arguments, value, _other(value, rng))})
    error = ToolFailure(type="tool_error", message="not found")
    seen = Observation(call_id="guess", content="Error: not found", error=error)
    step = steps[place].model_copy(update={"calls": (guessed,), "observations": (seen,), "message": None})
    return injected_into(run, "premature_commitment", "guess", place, [*steps[:place], step, *steps[place:]])


def _other(value: str, rng: random.Random) -> str:
    """Of the same shape: other digits, or, where there is none, other letters."""
    pool = "0123456789" if any(char.isdigit() for char in value) else "BCDFGHJKLMNPQRSTVWXZ"
    return "".join(rng.choice(pool.replace(char, "")) if char in pool else char for char in value)


def _invented_tool(run: Labelled, rng: random.Random) -> Injected | None:
    """The answer is a refusal, as of every runner: a tool that answers exists, whoever declares it."""
    name = rng.choice(_NEW_TOOLS)
    put = _with_call(run, rng, "invented tool", lambda call: call.model_copy(update={"name": name}))
    if put is None:
        return None
    steps = list(put.evidence.trial.trajectory.steps)
    step = steps[put.origin]
    text = f"Error: Unknown tool {name}"
    error = ToolFailure(type="unknown_tool", message=text)
    refused = Observation(call_id=step.calls[0].id, content=text, error=error)
    seen = (refused, *step.observations[1:])
    steps[put.origin] = step.model_copy(update={"observations": seen})
    return injected_into(run, put.failure, put.variant, put.origin, steps)


def _invented_parameter(run: Labelled, rng: random.Random) -> Injected | None:
    def extended(call: ToolCall) -> ToolCall:
        return call.model_copy(update={"arguments": {**(call.arguments or {}), rng.choice(_NEW_PARAMETERS): True}})

    return _with_call(run, rng, "invented parameter", extended)


def _with_call(
    run: Labelled, rng: random.Random, variant: str, change: Callable[[ToolCall], ToolCall]
) -> Injected | None:
    steps = steps_of(run)
    places = [place for place, step in enumerate(steps) if calls_of(step)]
    if not places:
        return None
    place = rng.choice(places)
    calls = (change(steps[place].calls[0]), *steps[place].calls[1:])
    changed = [*steps[:place], steps[place].model_copy(update={"calls": calls}), *steps[place + 1 :]]
    return injected_into(run, "tool_hallucination", variant, place, changed)


def _claimed_call(run: Labelled, _: random.Random) -> Injected | None:
    """Every write is taken out; what the agent itself said of the last one stays, its next message being the origin."""
    steps = steps_of(run)
    writes = [place for place, step in enumerate(steps) if any(writes_by(run, call.name) for call in good_calls(step))]
    told = next((place for place in range(writes[-1] + 1, len(steps)) if _says(steps[place])), None) if writes else None
    if told is None:
        return None
    kept = [place for place, step in enumerate(steps) if not any(writes_by(run, call.name) for call in calls_of(step))]
    return injected_into(run, "tool_hallucination", "claimed call", kept.index(told), [steps[place] for place in kept])


def _says(step: Step) -> bool:
    return step.source == "agent" and len(step.message or "") > len("###STOP###") and not step.calls


def _fabricated_result(run: Labelled, rng: random.Random) -> Injected | None:
    steps = steps_of(run)
    places = [place for place, step in enumerate(steps) if step.source == "agent" and step.message and place > 1]
    if not places:
        return None
    place = rng.choice(places)
    code = "".join(rng.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(3)) + str(rng.randint(1000, 9999))
    message = f"{steps[place].message} Your reference for this is {code}."
    changed = [*steps[:place], steps[place].model_copy(update={"message": message}), *steps[place + 1 :]]
    return injected_into(run, "tool_hallucination", "fabricated result", place, changed)


def _aimed(run: Labelled, call: ToolCall) -> bool:
    return writes_by(run, call.name) and bool(identifiers(call.arguments))


def _strangers(run: Labelled, other: Labelled) -> bool:
    if run.domain == "telecom":  # all of its tasks are about one customer
        return other.domain != "telecom"
    return other.domain == run.domain and other.user != run.user
