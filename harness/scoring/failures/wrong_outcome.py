"""Wrong outcome: how the world or the words differ from what the reference asks for."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence, judged_by_state, to_say, users_actions
from harness.scoring.failures.commitment import early_stops, unwarranted_writes
from harness.scoring.failures.reading import Act, Reading, read
from harness.scoring.failures.signals import is_hand_over
from harness.scoring.json_values import ArgumentDifference, differences, equality_key
from harness.scoring.scorecard import Diagnosis, Kind
from harness.suite.cases import ReferenceCall

VERSION: Final = "4"
_SHOWN: Final = 160
_DOUBTFUL: Final = 0.4
"""Of a write too many where the benchmark does not judge by the state: another way than the reference's may need it."""
_MOST: Final = 40
"""Writes of a trial that are paired; past these the pairing would cost and tell nothing."""


def wrong_outcomes(reading: Reading) -> tuple[Diagnosis, ...]:
    """Every wrong write, in order; where there is none, what was not said or not done by the user."""
    case = reading.evidence.case
    if case.reference is None or reading.evidence.success is not False:
        return ()
    effects = {tool.name: tool.effect for tool in reading.evidence.tools}
    wanted = [call for call in case.reference if effects.get(call.tool) == "write" and not is_hand_over(call.tool)]
    acts = [act for act in reading.acts if act.writes and not is_hand_over(act.call.name)]
    made = [act for act in acts if not act.failed]
    if max(len(wanted), len(made)) > _MOST:
        return ()
    missing, extra = _unpaired(wanted, made)
    found = tuple(_written(reading, missing, extra, [act for act in acts if act.failed]))
    if found and not judged_by_state(case.expected) and all(one.kind == "needless_write" for one in found):
        doubtful = tuple(one.model_copy(update={"confidence": _DOUBTFUL}) for one in found)
        others = _words_or_user(reading)
        in_place_of_hand_over = not wanted and any(one.kind == "missing_write" for one in others)
        return (*doubtful, *others) if in_place_of_hand_over else others or doubtful
    if found:
        return found
    if not _in_order(wanted, made):
        return (
            _found("wrong_order", made[0].step, "the right writes, in an order that the reference does not allow", 0.7),
        )
    return _words_or_user(reading)


def _unpaired(wanted: Sequence[ReferenceCall], made: Sequence[Act]) -> tuple[list[ReferenceCall], list[Act]]:
    """Writes of either side that no equal one answers."""
    left = list(made)
    missing = []
    for call in wanted:
        equal = next((act for act in left if act.call.name == call.tool and not _unlike(call, act)), None)
        if equal is None:
            missing.append(call)
        else:
            left.remove(equal)
    return missing, left


def _unlike(call: ReferenceCall, act: Act) -> tuple[ArgumentDifference, ...]:
    return differences(call.arguments, act.call.arguments or {})


def _written(
    reading: Reading, missing: Sequence[ReferenceCall], extra: list[Act], refused: Sequence[Act]
) -> Iterator[Diagnosis]:
    last = next((step.index for step in reversed(reading.steps) if step.source == "agent"), None)
    for call in missing:
        alike = [act for act in extra if act.call.name == call.tool]
        if alike:
            nearest = min(alike, key=lambda act: (_weight(_unlike(call, act)), act.number))
            extra.remove(nearest)
            yield _differing(call, nearest)
            continue
        tried = [act for act in refused if act.call.name == call.tool]
        evidence = f"{call.tool}({_shown(call.arguments)}) was not made"
        if tried:
            closest = min(tried, key=lambda act: (_weight(_unlike(call, act)), -act.number))
            evidence += f"; a try was refused{_tell(_unlike(call, closest))}"
            yield _found("missing_write", closest.step, evidence, 0.7)
        elif last is not None:
            yield _found("missing_write", last, evidence, 0.6)
    for first, steps in _by_tool(extra):
        evidence = f"{first.call.name}({_shown(first.call.arguments)}) is none of the reference's writes"
        evidence += f"; {len(steps)} of this tool's are not" if len(steps) > 1 else ""
        yield _found("needless_write", steps[0], evidence, 0.7, later=steps[1:])


def _by_tool(acts: Sequence[Act]) -> Iterator[tuple[Act, tuple[int, ...]]]:
    """The first write of each tool, and the steps of all."""
    for name in dict.fromkeys(act.call.name for act in acts):
        own = [act for act in acts if act.call.name == name]
        yield own[0], tuple(dict.fromkeys(act.step for act in own))


def _weight(unlike: Sequence[ArgumentDifference]) -> tuple[int, int]:
    return sum(one.is_target and not one.encoding for one in unlike), len(unlike)


def _differing(call: ReferenceCall, act: Act) -> Diagnosis:
    unlike = _unlike(call, act)
    kind: Kind = "wrong_argument"
    if all(one.encoding for one in unlike):
        kind = "wrong_encoding"
    elif any(one.is_target and not one.encoding for one in unlike):
        kind = "wrong_target"
    return _found(kind, act.step, f"{act.call.name}{_tell(unlike)}", 0.8)


def _tell(unlike: Sequence[ArgumentDifference]) -> str:
    parts = [f"{one.argument}: expected {_shown(one.expected)}, found {_shown(one.found)}" for one in unlike[:4]]
    return f": {'; '.join(parts)}" if parts else ""


def _in_order(wanted: Sequence[ReferenceCall], made: Sequence[Act]) -> bool:
    """Whether each write came after those that the reference puts before it."""
    numbers: dict[str, int] = {}
    left = list(made)
    for call in wanted:
        act = next((act for act in left if act.call.name == call.tool and not _unlike(call, act)), None)
        if act is None:
            return True
        left.remove(act)
        numbers[call.id] = act.number
    return all(numbers[name] < numbers[call.id] for call in wanted for name in call.after if name in numbers)


def _words_or_user(reading: Reading) -> tuple[Diagnosis, ...]:
    last = next((step.index for step in reversed(reading.steps) if step.source == "agent"), None)
    if last is None:
        return ()
    unsaid = [text for text in to_say(reading.evidence.case.expected) if not _is_said(text, reading)]
    if unsaid:
        evidence = f"no write is wrong; the agent never said {', '.join(map(repr, unsaid[:4]))}"
        return (_found("wrong_words", last, evidence, 0.7),)
    asked = next((call.tool for call in reading.evidence.case.reference or () if is_hand_over(call.tool)), None)
    if asked is not None and not any(is_hand_over(act.call.name) for act in reading.acts):
        return (_found("missing_write", last, f"{asked} was not made: nobody was handed the case", 0.6),)
    undone = _left_undone(reading)
    if undone:
        evidence = f"no write of the agent is wrong; the user was not led to {', '.join(undone[:4])}"
        return (_found("left_to_the_user", last, evidence, 0.6),)
    return ()


def _is_said(text: str, reading: Reading) -> bool:
    wanted = text.casefold().replace(",", "")
    said = (step.message for step in reading.steps if step.source == "agent" and step.message)
    return any(wanted in message.casefold().replace(",", "") for message in said)


def _left_undone(reading: Reading) -> list[str]:
    """Names of the user's own gold actions that the user did not do, with these arguments."""
    done = {
        (call.name, equality_key(call.arguments))
        for step in reading.steps
        if step.source == "user"
        for call in step.calls
    }
    return [
        str(one.get("name"))
        for one in users_actions(reading.evidence.case.expected)
        if (one.get("name"), equality_key(one.get("arguments") or {})) not in done
    ]


def _shown(value: JsonValue) -> str:
    text = equality_key(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _found(kind: Kind, step: int, evidence: str, confidence: float, *, later: tuple[int, ...] = ()) -> Diagnosis:
    return Diagnosis(
        failure="wrong_outcome",
        kind=kind,
        origin_step=step,
        dependent_steps=later,
        evidence=evidence,
        confidence=confidence,
        version=VERSION,
    )


class WrongOutcome:
    """Wrong outcome: how the world or the words differ from what the reference asks for.

    Examined where the case has a reference and the trial is known to have failed. Writes are compared as `effect_match`
    compares them, in arguments that were made comparable (see `comparing`); a write of the reference that no equal one
    answers is paired with the write of the same tool that is nearest to it:

    `wrong_target`: it acts on something else (an argument called `id`, `..._id`). `wrong_argument`: it differs in
    another argument. `wrong_encoding`: it is right in substance, and written otherwise than declared (JSON as text, a
    number as text, a list of one). `missing_write`: no write of the tool answers it. `needless_write`: a write that
    answers none. `wrong_order`: the right writes in an order that the reference does not allow. `wrong_words`: no write
    is wrong, and the agent never said what had to be said. `left_to_the_user`: what the user should have been led to do
    was not done. Where the reference writes nothing and hands over to a person, what was written in place of the
    hand-over is needless.

    Does not count: what the agent tried and the tool refused (it is missing); reads; a hand-over to a person.

    Origin: the write; for what is missing the agent's last step, for refused tries the last of them. One finding a
    write.
    """

    name: ClassVar[str] = "wrong_outcome"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        if evidence.success is not False:
            return ()
        early, named = early_stops(reading), {one.origin_step for one in unwarranted_writes(reading)}
        return tuple(
            one
            for one in wrong_outcomes(reading)
            if not (one.kind == "needless_write" and one.origin_step in named)
            and not (one.kind == "missing_write" and early)
        )
