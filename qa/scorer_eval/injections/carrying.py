"""A value corrupted where it is first used, and carried on through all that follows."""

import random
from collections.abc import Sequence

from injections.injection import Injected, calls_of, injected_into, put_for, steps_of
from sources import Labelled

from harness.scoring.failures.grounding import identifiers
from harness.traces.trajectory import Step


def corrupt_and_carry(run: Labelled, rng: random.Random, _: Sequence[Labelled]) -> Injected | None:
    """One identifier is changed in one or two characters where a call uses it, and so from there on.

    Where the run uses none twice, the agent's next message is made to name it once more.
    """
    steps = steps_of(run)
    uses: dict[str, list[int]] = {}
    for place, step in enumerate(steps):
        said = set() if step.source != "agent" else {w for w in uses if step.message and w in step.message}
        for value in dict.fromkeys([*said, *(v for call in calls_of(step) for v in identifiers(call.arguments))]):
            uses.setdefault(value, []).append(place)
    carried = sorted((value, places[:-1]) for value, places in uses.items() if len(places) > 1)
    if not carried:
        return _corrupt_and_tell(run, rng, sorted((value, places[0]) for value, places in uses.items()))
    value, starts = rng.choice(carried)
    start = rng.choice(
        [place for place in starts if any(value in identifiers(c.arguments) for c in steps[place].calls)]
    )
    return _corrupt_from(run, rng, "one identifier", value, start, steps)


def _corrupt_and_tell(run: Labelled, rng: random.Random, used: Sequence[tuple[str, int]]) -> Injected | None:
    steps = steps_of(run)
    told = [place for place, step in enumerate(steps) if step.source == "agent" and step.message]
    fitting = [(value, start) for value, start in used if told and told[-1] > start]
    if not fitting:
        return None
    value, start = rng.choice(fitting)
    place = next(place for place in told if place > start)
    message = f"{steps[place].message} This is about {value}."
    steps[place] = steps[place].model_copy(update={"message": message})
    return _corrupt_from(run, rng, "one identifier, told once more", value, start, steps)


def _corrupt_from(
    run: Labelled, rng: random.Random, variant: str, value: str, start: int, steps: Sequence[Step]
) -> Injected:
    wrong = _corrupted(value, rng)
    changed = [_replaced(step, value, wrong) if place >= start else step for place, step in enumerate(steps)]
    return injected_into(run, "cascading_error", variant, start, changed)


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
                call.model_copy(update={"arguments": put_for(call.arguments, value, wrong)}) for call in step.calls
            ),
            "observations": tuple(
                seen.model_copy(update={"content": put_for(seen.content, value, wrong)}) for seen in step.observations
            ),
        }
    )
