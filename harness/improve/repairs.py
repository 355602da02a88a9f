"""The least changes that could mend a failed trial: one for each place where it differs from right calls.

Sources, each named in its candidates: the reference of the case, a passing trial of it, and the faults that the trial
met. If there is neither a reference nor a passing trial, only answers and faults can be tried.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from harness.improve.subject import StoredSubject
from harness.scoring.alignment import (
    Deviation,
    alternative_deviations,
    deviations_from_reference,
    deviations_from_trial,
    invocations,
)
from harness.scoring.evidence import fed_calls, step_of_call
from harness.suite.interventions import CallEdit, FedCall, Intervention, Invocation
from harness.traces.trial import Trial
from harness.values import canonical_json

# Right answers by reference alone: a number that no tool gave is replaced by one that a tool gave.
#
# An answer says `$3.78` if a tool said `278` cents, or 2.78. Numbers that a tool or the user gave are left alone.

_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,4})?(?![\w]|\.\d)")
_MOST = 4
"""Other numbers that are tried for one, those that look most like it first."""
_WRONG = 2
"""Numbers of the answer that are replaced at most; an answer with more of them is not one slip."""


def answers_by_tools(trial: Trial) -> Iterator[tuple[str, str]]:
    """(answer, what is otherwise in words), each with one number replaced."""
    answer = trial.trajectory.final_output
    if not isinstance(answer, str):
        return
    given = _numbers_in_answers(trial)
    asked = {
        one for step in trial.trajectory.steps if step.source == "user" for one in _NUMBER.findall(step.message or "")
    }
    wrong = [found for found in _NUMBER.finditer(answer) if found[0] not in given and found[0] not in asked]
    if len(wrong) > _WRONG:
        return
    for found in wrong:
        for other in sorted(given, key=lambda one: (_distance(found[0], one), given[one]))[:_MOST]:
            changed = f"{answer[: found.start()]}{other}{answer[found.end() :]}"
            yield changed, f"the answer says {other}, which a tool gave, instead of {found[0]}"


def _numbers_in_answers(trial: Trial) -> dict[str, int]:
    """Numbers of the tools' answers as an answer may write them, and how long before the end each was given last."""
    found: dict[str, int] = {}
    for age, call in enumerate(reversed(fed_calls(trial))):
        for number in _numbers(call.content):
            for text in _written_forms(number):
                found.setdefault(text, age)
    return found


def _numbers(content: JsonValue) -> list[str]:
    return _NUMBER.findall(content if isinstance(content, str) else canonical_json(content))


def _written_forms(number: str) -> tuple[str, ...]:
    """As it is, and cents as an amount."""
    if "." in number:
        return number, f"{float(number):.2f}"
    return number, f"{int(number) / 100:.2f}"


def _distance(one: str, other: str) -> tuple[int, int]:
    """In length, then in how many places two numbers differ."""
    shape = abs(len(one) - len(other)) + 2 * (("." in one) != ("." in other))
    return shape, sum(a != b for a, b in zip(one, other, strict=False))


Origin = Literal["reference", "passing_trial", "fault"]


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One change that is tried."""

    deviation: Deviation | None
    """None: the answer or a fault is changed, and no call."""
    intervention: Intervention
    at: int
    """Number of the first call that it changes; past the last call, the agent's answer or what is missing at the end.
    """
    origin: Origin
    is_alternative: bool = False
    """Whether it is beside a likelier change at the same place: it is tried alone, and not in sets."""

    @property
    def step(self) -> int:
        """The step at which it changes the trial."""
        assert self.intervention.step is not None  # a repair is made at a step
        return self.intervention.step

    @property
    def is_answer(self) -> bool:
        """Whether it writes what the checks of the answer read: it mends them whatever the agent has done."""
        return self.intervention.final_answer is not None


def repairs(subject: StoredSubject, passing: Trial | None) -> list[Repair]:
    """Every candidate, the earliest first; equal changes of several origins once."""
    reference = [Invocation(tool=one.tool, arguments=one.arguments) for one in subject.case.reference or ()]
    found = [
        *_faults(subject, passing),
        *(() if passing is None else _from_trial(subject, passing)),
        *_by_calls(subject, _from_reference(subject), reference, "reference"),
        *_answers(subject, passing),
    ]
    first: dict[str, Repair] = {}
    for one in found:
        first.setdefault(canonical_json(one.intervention.model_copy(update={"words": ""})), one)
    return sorted(first.values(), key=lambda one: (one.at, one.step))


def merged(chosen: Sequence[Repair]) -> Intervention:
    """Several changes as one; of two at one place, the earlier given, but all calls of one origin that are missing
    there.
    """
    edits: dict[tuple[int, str], CallEdit] = {}
    origins: dict[tuple[int, str], Origin] = {}
    for repair in chosen:
        for edit in repair.intervention.edits:
            place = (edit.at, "beside" if edit.kind == "before" else "call")
            if place not in edits:
                edits[place], origins[place] = edit, repair.origin
            elif edit.kind == edits[place].kind == "before" and origins[place] == repair.origin:
                edits[place] = edit.model_copy(update={"calls": (*edits[place].calls, *edit.calls)})
    answers = [one.intervention.final_answer for one in chosen if one.intervention.final_answer is not None]
    return Intervention(
        step=min(one.step for one in chosen),
        words="; ".join(one.intervention.words for one in chosen),
        edits=tuple(edits[key] for key in sorted(edits)),
        at_end=tuple(call for one in chosen for call in one.intervention.at_end),
        final_answer=answers[0] if answers else None,
        lifts_faults=any(one.intervention.lifts_faults for one in chosen),
    )


def _from_trial(subject: StoredSubject, passing: Trial) -> Iterator[Repair]:
    right = fed_calls(passing)
    found = deviations_from_trial(fed_calls(subject.trial), right, subject.suite.tools)
    return _by_calls(subject, found, invocations(right), "passing_trial")


def _from_reference(subject: StoredSubject) -> tuple[Deviation, ...]:
    return deviations_from_reference(fed_calls(subject.trial), subject.case.reference, subject.suite.tools)


def _by_calls(
    subject: StoredSubject, found: Sequence[Deviation], right: Sequence[Invocation], origin: Origin
) -> Iterator[Repair]:
    calls = fed_calls(subject.trial)
    for one in found:
        yield _repair(subject, calls, one, origin)
    for other in alternative_deviations(calls, found, right, subject.suite.tools):
        yield replace(_repair(subject, calls, other, origin), is_alternative=True)


def _repair(subject: StoredSubject, calls: Sequence[FedCall], one: Deviation, origin: Origin) -> Repair:
    edits, at_end = list[CallEdit](), list[Invocation]()
    if one.expected is None:
        here = calls[one.at]
        edits.append(CallEdit(at=one.at, kind="drop", content=here.content, error=here.error, message=here.message))
        if one.belongs_at is not None and one.found is not None:
            _insert(one.found, one.belongs_at, len(calls), edits, at_end)
    elif one.found is None:
        _insert(one.expected, one.at, len(calls), edits, at_end)
    else:
        edits.append(CallEdit(at=one.at, kind="replace", calls=(one.expected,)))
    at = min([edit.at for edit in edits] or [len(calls)])
    intervention = Intervention(
        step=step_of_call(calls, subject.trial, at), words=one.words, edits=tuple(edits), at_end=tuple(at_end)
    )
    return Repair(deviation=one, intervention=intervention, at=at, origin=origin)


def _insert(call: Invocation, at: int, calls: int, edits: list[CallEdit], at_end: list[Invocation]) -> None:
    if at < calls:
        edits.append(CallEdit(at=at, kind="before", calls=(call,)))
    else:
        at_end.append(call)


def _answers(subject: StoredSubject, passing: Trial | None) -> Iterator[Repair]:
    """The right answer to the user, in place of the one that was given."""
    calls = fed_calls(subject.trial)
    given = subject.trial.trajectory.final_output
    expected = subject.case.expected_output
    right: list[tuple[object, Origin]] = []
    if passing is not None:
        right.append((passing.trajectory.final_output, "passing_trial"))
    right.append((expected if isinstance(expected, str | None) else canonical_json(expected), "reference"))
    deviation = Deviation(kind="answer_itself", at=len(calls))
    for answer, origin in right:
        if isinstance(answer, str) and answer != given:
            intervention = Intervention(
                step=step_of_call(calls, subject.trial, len(calls)), words=deviation.words, final_answer=answer
            )
            yield Repair(deviation=deviation, intervention=intervention, at=len(calls), origin=origin)
    if subject.case.reference is not None and all(answer is None for answer, _ in right):
        for answer, words in answers_by_tools(subject.trial):
            intervention = Intervention(
                step=step_of_call(calls, subject.trial, len(calls)),
                words=f"{deviation.words}: {words}",
                final_answer=answer,
            )
            guess = Repair(deviation=deviation, intervention=intervention, at=len(calls), origin="reference")
            yield replace(guess, is_alternative=True)


def _faults(subject: StoredSubject, passing: Trial | None) -> Iterator[Repair]:
    """The true answer instead of a faulty one: that of the same call in a passing trial, or without the faults."""
    calls, seen = fed_calls(subject.trial), subject.trial.trajectory.observations
    injected = [one for one in seen.values() if one.injected is not None]
    struck = {call.id for step in subject.trial.trajectory.steps for call in step.calls if call.id in seen}
    first = next((n for n, call in enumerate(calls) if _is_injected(subject, call)), None)
    if first is not None and injected and struck:
        yield Repair(
            deviation=None,
            intervention=Intervention(
                step=calls[first].step, words="the injected faults are left out", lifts_faults=True
            ),
            at=first,
            origin="fault",
        )
    if passing is None:
        return
    good = {(one.tool, canonical_json(one.arguments)): one for one in fed_calls(passing) if one.error is None}
    for number, call in enumerate(calls):
        true = good.get((call.tool, canonical_json(call.arguments)))
        if true is not None and (call.error is not None or true.content != call.content):
            edit = CallEdit(at=number, kind="answer", content=true.content)
            words = f"{call.tool} gives the answer that it gave in a passing trial"
            intervention = Intervention(step=call.step, words=words, edits=(edit,))
            yield Repair(deviation=None, intervention=intervention, at=number, origin="passing_trial")


def _is_injected(subject: StoredSubject, call: FedCall) -> bool:
    """By the step's own index: in an imported trajectory it need not be the step's position."""
    steps = [step for step in subject.trial.trajectory.steps if step.index == call.step]
    return any(seen.injected is not None for step in steps for seen in step.observations)
