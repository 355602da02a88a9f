"""Facts of the outcome: how writes differ from the reference's, and how the trial ended.

Examined if the trial is known to have failed. Writes are compared as `effect_match` compares them. A write of the
reference that no equal one answers is paired with the write of the same tool that is nearest to it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence
from harness.scoring.findings.reading import Act, Reading, atoms, hands_in, is_hand_over
from harness.scoring.json_values import ArgumentDifference, differences, equality_key
from harness.scoring.scorecard import Diagnosis, fact
from harness.suite.cases import ReferenceCall
from harness.text import shortened

_SHOWN: Final = 160
_MOST: Final = 40
"""Writes of a trial that are paired; past these the pairing would cost and tell nothing."""


def has_failed(evidence: Evidence) -> bool:
    """Whether the trial is known to have failed: a check said so, or the agent did not end by itself."""
    return evidence.success is False or evidence.trial.outcome in ("agent_failed", "limit_reached")


def facts_of_outcome(reading: Reading) -> Iterator[Diagnosis]:
    """In any order."""
    evidence, last = reading.evidence, reading.last_step
    if evidence.trial.outcome == "limit_reached" and last is not None:
        yield fact("goal_drift", "limit_reached", last, evidence.trial.reason or "a limit was reached")
    if evidence.success is not False or last is None:
        return
    wrong: tuple[Diagnosis, ...] = ()
    if evidence.case.reference is not None:
        wrong = tuple(_writes(reading, evidence.case.reference, last))
        yield from wrong
    if evidence.trial.outcome == "finished":
        yield from _ending(reading, last, named=bool(wrong))


def _writes(reading: Reading, reference: Sequence[ReferenceCall], last: int) -> Iterator[Diagnosis]:
    effects = {tool.name: tool.effect for tool in reading.evidence.tools}
    wanted = [call for call in reference if effects.get(call.tool) == "write" and not is_hand_over(call.tool)]
    acts = [act for act in reading.acts if act.writes and not is_hand_over(act.call.name)]
    made = [act for act in acts if not act.failed]
    if max(len(wanted), len(made)) > _MOST:
        return
    missing, extra = _unpaired(wanted, made)
    handed = [act for act in reading.acts if is_hand_over(act.call.name)]
    may_hand_over = any(is_hand_over(call.tool) for call in reference)
    if handed and not may_hand_over and missing:
        evidence = f"{handed[0].call.name}: handed over, and the reference does not; {missing[0].tool} was not made"
        yield fact("premature_commitment", "handed_over", handed[0].step, evidence)
    for call in missing:
        alike = [act for act in extra if act.call.name == call.tool]
        if alike:
            nearest = min(alike, key=lambda act: (_weight(_unlike(call, act)), act.number))
            extra.remove(nearest)
            yield fact("premature_commitment", "wrong_write", nearest.step, _told(call.tool, _unlike(call, nearest)))
        elif not handed or may_hand_over:
            yield _missing(call, acts, last)
    for name in dict.fromkeys(act.call.name for act in extra):
        own = [act for act in extra if act.call.name == name]
        evidence = f"{name}({_shown(own[0].call.arguments)}) is none of the reference's writes"
        steps = list(dict.fromkeys(act.step for act in own))
        yield fact("goal_drift", "needless_write", steps[0], evidence, later=steps[1:])
    early = None if missing or extra else _out_of_order(wanted, made)
    if early is not None:
        evidence = f"{early.call.name} was made before what the reference makes before it"
        yield fact("premature_commitment", "wrong_write", early.step, evidence)


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


def _weight(unlike: Sequence[ArgumentDifference]) -> tuple[int, int]:
    return sum(one.is_target and not one.encoding for one in unlike), len(unlike)


def _missing(call: ReferenceCall, acts: Sequence[Act], last: int) -> Diagnosis:
    evidence = f"{call.tool}({_shown(call.arguments)}) was not made"
    tried = [act for act in acts if act.failed and act.call.name == call.tool]
    if not tried:
        return fact("premature_commitment", "missing_write", last, evidence)
    closest = min(tried, key=lambda act: (_weight(_unlike(call, act)), -act.number))
    own = set(closest.identifiers)
    before = [act for act in acts if act.number < closest.number and not act.failed and own & set(act.identifiers)]
    if before:  # what was written before is what the tool refuses by
        evidence = f"{evidence}: it was refused after {before[-1].call.name} had changed the same object"
        return fact("cascading_error", "missing_write", before[-1].step, evidence, later=[closest.step])
    evidence = f"{evidence}; a try was refused: {_told(call.tool, _unlike(call, closest))}"
    return fact("premature_commitment", "missing_write", closest.step, evidence)


def _out_of_order(wanted: Sequence[ReferenceCall], made: Sequence[Act]) -> Act | None:
    """The first write that came before one that the reference puts before it."""
    acts: dict[str, Act] = {}
    left = list(made)
    for call in wanted:
        act = next(act for act in left if act.call.name == call.tool and not _unlike(call, act))
        left.remove(act)
        acts[call.id] = act
    wrong = [
        acts[call.id]
        for call in wanted
        if any(name in acts and acts[name].number > acts[call.id].number for name in call.after)
    ]
    return min(wrong, key=lambda act: act.number, default=None)


def _ending(reading: Reading, last: int, *, named: bool) -> Iterator[Diagnosis]:
    """`named`: a write is known to be wrong or missing, which says more."""
    evidence = reading.evidence
    called = {act.call.name for act in reading.acts}
    left_out = sorted(set(evidence.case.required_tools) - called)
    if not left_out and not named:
        wanted = {call.tool for call in evidence.case.reference or ()}
        left_out = sorted(one for one in wanted - called if not is_hand_over(one))
    if left_out:
        yield fact("premature_commitment", "stopped_early", last, f"ended without {', '.join(left_out)}")
    elif not named and not evidence.answered and not reading.steps[-1].message:
        yield fact("premature_commitment", "stopped_early", last, "ended without an answer")


def place_to_look(reading: Reading) -> Act | None:
    """The write to look at first if no fact was found: of the tool that wrote most often, the first one with a value
    that the user had not said before, else its first.
    """
    acts = [act for act in reading.acts if act.writes and not act.failed and not act.is_code]
    made = [act for act in acts if not is_hand_over(act.call.name) and not hands_in(act.call.name)]
    times = Counter(act.call.name for act in made)
    own = [act for act in made if times[act.call.name] == max(times.values())]
    said: set[str] = set()
    told = [(reading.moments[step.index], step.message) for step in reading.steps if step.source == "user"]
    for act in own:
        while told and told[0][0] < act.moment:
            said.update(atoms(told.pop(0)[1] or ""))
        if not said.issuperset(word for text in act.argument_texts for word in atoms(text)):
            return act
    return own[0] if own else None


def _told(tool: str, unlike: Sequence[ArgumentDifference]) -> str:
    parts = [f"{one.argument}: expected {_shown(one.expected)}, found {_shown(one.found)}" for one in unlike[:4]]
    return f"{tool}: {'; '.join(parts)}"


def _shown(value: JsonValue) -> str:
    return shortened(equality_key(value), _SHOWN)
