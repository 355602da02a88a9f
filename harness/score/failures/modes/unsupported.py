"""Answers that rest on nothing.

`unsupported_answer` (tool hallucination) counts: the run handed in an answer by a call, it had made other calls, and
no answer to any of them told anything that was not known before (see `progress`); or it had made none, and its plan
needed to look something up (see `lookups`), or an agent that was sent had reported that it could not (there too), or it
is known to have failed and tools that only tell were there. The
result was made up. An answer in words counts where the plan needed a look-up. Does not count: a run without recorded
calls; an answer that a tool's result told, however short it was; what a program of the agent
printed without having it in its own text, where the plan needed nothing from outside (a riddle is computed); nor where
the trial is known to have succeeded.

Origin: the call that hands in, or the step that states the answer. Dependent steps: none.
"""

import re
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.modes.lookups import MissingLookups, is_answer, told_by, unmade_lookups
from harness.score.failures.modes.stuck import COMMANDS
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import texts
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.progress import INFORMATIVE, new_atoms
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.repetition import gist

VERSION: Final = "7"


def unsupported_answers(reading: Reading, unmade: MissingLookups | None) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    if reading.evidence.success is True:
        return ()
    if unmade is not None and unmade.reported is not None:
        return (_unlooked(unmade),)
    last = next((act for act in reversed(reading.acts) if is_answer(act.call)), None)
    if last is None:
        return () if unmade is None else (_unlooked(unmade),)
    others = [act for act in reading.acts if not is_answer(act.call) and act.seen is not None]
    if not others:
        return _from_nowhere(reading, last) if unmade is None else (_unlooked(unmade),)
    informed = any(count >= INFORMATIVE for count in new_atoms(reading, others).values())
    informed = informed or told_by(reading, last) is not None
    if informed or (unmade is None and any(_computed(last, act) for act in others)):
        return ()
    evidence = f"handed in, and none of the {len(others)} answers before had told it or much else that was new"
    return (_found("tool_hallucination", "unsupported_answer", last.step, evidence, 0.7),)


def _unlooked(unmade: MissingLookups) -> Diagnosis:
    evidence = "handed in what its plan needed to look up, and no call had told anything of it"
    if unmade.reported is not None:
        evidence = f"handed in an answer, though step {unmade.reported} had reported that none could be found"
    return _found("tool_hallucination", "unsupported_answer", unmade.answered, evidence, 0.7)


def _from_nowhere(reading: Reading, answer: Act) -> tuple[Diagnosis, ...]:
    """Of a trial that is known to have failed: an answer without any call, where there were tools that tell."""
    own = (tool for tool in reading.evidence.tools if tool.name in reading.evidence.allowed)
    tells = [tool.name for tool in own if tool.effect == "read" and not hands_in(tool.name)]
    if reading.evidence.success is not False or not tells:
        return ()
    evidence = f"handed in without any call, though {tells[0]} could have been asked"
    return (_found("tool_hallucination", "unsupported_answer", answer.step, evidence, 0.5),)


def _computed(answer: Act, act: Act) -> bool:
    """Whether the call ran a program that printed the answer and does not contain it, its comments left out."""
    arguments = act.call.arguments
    if COMMANDS.isdisjoint(arguments or ()) or act.seen is None or act.failed:
        return False
    value = " ".join(texts(answer.call.arguments)).strip().casefold()
    whole = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w.]?\w)")
    printed = "\n".join(texts(act.seen.content)).casefold()
    return bool(value) and whole.search(printed) is not None and whole.search(gist(arguments).casefold()) is None


def _found(failure: Failure, kind: Kind, step: int, evidence: str, confidence: float) -> Diagnosis:
    return Diagnosis(
        failure=failure, kind=kind, origin_step=step, evidence=evidence, confidence=confidence, version=VERSION
    )


class Unsupported:
    """Answers that rest on nothing."""

    name: ClassVar[str] = "unsupported"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return unsupported_answers(reading, unmade_lookups(reading))
