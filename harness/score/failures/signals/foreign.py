"""Values that came from nowhere: the identifiers in calls that nothing given to the agent had contained.

One such value is the mark of four failures, told apart by what became of it:
- it looks like a known value, one or two characters off: miscopied, and a cascading error where it is used again;
- the call failed, or wrote: a guess (premature commitment);
- reads by it succeeded, and further calls rest on what they gave: another task is being worked on (goal drift);
- it is used again without having been confirmed by any answer: invented, and carried on (cascading error).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, is_identifier, texts
from harness.score.failures.signals.reading import Reading, read

_MOST: Final = 24
"""Values examined in one trial: past these, nothing new is learnt and the look-alike search would cost."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """An identifier that came from nowhere, and the calls that use it."""

    value: str
    acts: tuple[Act, ...]
    """The first is where it came up."""
    confirmed: bool
    """The first call with it succeeded and its answer contains it."""
    lookalike: str | None
    """What it may have been copied from."""


def foreign_values(reading: Reading) -> tuple[Foreign, ...]:
    """In order of their first use."""
    users: dict[str, list[Act]] = {}
    for act in reading.acts:
        for value in act.identifiers if act.tool is not None else ():
            users.setdefault(value, []).append(act)
    ungrounded = [(value, acts) for value, acts in users.items() if not reading.sources.grounded(value, acts[0].moment)]
    return tuple(
        Foreign(
            value=value,
            acts=tuple(acts),
            confirmed=_confirmed(value, acts[0]),
            lookalike=reading.sources.lookalike(value, acts[0].moment),
        )
        for value, acts in sorted(ungrounded, key=lambda pair: pair[1][0].number)[:_MOST]
    )


def rests_on(act: Act, given: Collection[int], values: frozenset[str], reading: Reading) -> bool:
    """The call uses one of the atoms `values`, or something that an observation at a moment of `given` gave first."""
    for text in texts(act.call.arguments):
        for atom in atoms(text):
            # in prose any word can be new by chance; codes are not
            if atom in values or (
                (" " not in text or is_identifier(atom)) and reading.sources.since(atom) in given and len(atom) > 1
            ):
                return True
    return False


def _confirmed(value: str, act: Act) -> bool:
    if act.failed or act.answer is None:
        return False
    return set(atoms(value)) <= set(atoms(act.answer))


def foreign_of(evidence: Evidence) -> tuple[Foreign, ...]:
    """As `foreign_values`, found at most once for the same evidence."""
    return evidence.once(_foreign)


def _foreign(evidence: Evidence) -> tuple[Foreign, ...]:
    return foreign_values(read(evidence))
