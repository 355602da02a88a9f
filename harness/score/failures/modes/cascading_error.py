"""Cascading error: a wrong value enters at one step, and later steps are built on it.

`miscopied_value` counts: an identifier in a call that differs in one or two characters from one that the agent had been
given, and that it had not been given itself, used again by a later call or told to the user. `invented_value` counts:
an identifier from nowhere that no answer confirmed, used again by a later call of another kind.

Does not count: a wrong value that was used once (nothing rests on it); a failed call tried again with the right value;
a value computed from others (amounts and dates are not examined); a wrong answer of a tool (see
`wrong_sources`).

Origin: where the value entered. Dependent steps: the later ones that use it.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.signals.foreign import Foreign, foreign_of
from harness.score.failures.signals.grounding import atoms
from harness.score.failures.signals.prevention import check_of
from harness.score.failures.signals.reading import Reading, read

VERSION: Final = "7"


def carried_values(reading: Reading, foreign: Sequence[Foreign]) -> tuple[Diagnosis, ...]:
    """One finding a value."""
    found = []
    for one in foreign:
        later = _later_uses(reading, one)
        if one.lookalike is not None and later:
            found.append(_diagnosis(one, later, reading, miscopied=True))
        elif one.lookalike is None and not one.confirmed and _kinds(one) > 1:
            found.append(_diagnosis(one, later, reading, miscopied=False))
    return tuple(found)


def _later_uses(reading: Reading, one: Foreign) -> tuple[int, ...]:
    origin = one.acts[0]
    steps = {act.step for act in one.acts if act.number > origin.number and act.step != origin.step}
    wanted = set(atoms(one.value))
    for step in reading.steps:
        after = reading.moments[step.index] > origin.moment
        if after and step.source == "agent" and step.message and wanted <= set(atoms(step.message)):
            steps.add(step.index)
    return tuple(sorted(steps))


def _kinds(one: Foreign) -> int:
    return len({act.key for act in one.acts})


def _diagnosis(one: Foreign, later: tuple[int, ...], reading: Reading, *, miscopied: bool) -> Diagnosis:
    source = f"where {one.lookalike!r} had been given" if miscopied else "and had been given by nobody"
    check = check_of(one.value, one.acts[0], reading)
    return Diagnosis(
        failure="cascading_error",
        kind="miscopied_value" if miscopied else "invented_value",
        origin_step=one.acts[0].step,
        dependent_steps=later,
        evidence=f"{one.value!r} was used {source}; {len(later)} later steps rest on it",
        prevention=f"copying {one.lookalike!r} as it had been given; or {check}" if miscopied else check,
        confidence=0.9 if miscopied else 0.7,
        version=VERSION,
    )


class CascadingError:
    """Wrong values that later calls rest on."""

    name: ClassVar[str] = "cascading_error"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return carried_values(read(evidence), foreign_of(evidence))
