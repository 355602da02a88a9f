"""Answers that rest on nothing, and plans that were not followed.

`unsupported_answer` (tool hallucination) counts: the run handed in an answer by a call, it had made other calls, and no
answer to any of them told anything that was not known before (see `progress`): the result was made up. `unused_helper`
(goal drift) counts: the agent's own words name, twice or more, a tool or helper that its instructions offer, and no
call is of it or mentions it as called: what was planned was not done. Does not count: a run without recorded calls, an
answer given in words alone, and a helper that is named once.

Origin: the call that hands in; the message that first names the helper. Dependent steps: none.
"""

import re
from collections import Counter
from typing import Final

from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.grounding import texts
from harness.score.failures.handing_over import hands_in
from harness.score.failures.progress import INFORMATIVE, new_atoms
from harness.score.failures.reading import Act, Reading

VERSION: Final = "1"
_HELPER: Final = re.compile(r"\b[a-z]{2,24}(?:_[a-z]{2,24}){1,3}\b")
_NAMED: Final = 2


def unsupported_answers(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    last = next((act for act in reversed(reading.acts) if _answers(act)), None)
    others = [act for act in reading.acts if not _answers(act) and act.seen is not None]
    if last is None or not others:
        return ()
    if any(count >= INFORMATIVE for count in new_atoms(reading, others).values()):
        return ()
    evidence = f"handed in, and none of the {len(others)} answers before had told anything new"
    return (_found("tool_hallucination", "unsupported_answer", last.step, evidence, 0.7),)


def unused_helpers(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding: the helper that is named most."""
    if not any(_answers(act) for act in reading.acts):
        return ()
    offered = {name for step in reading.steps if step.source != "agent" for name in _HELPER.findall(step.message or "")}
    offered |= {tool.name for tool in reading.evidence.tools}
    named: Counter[str] = Counter()
    first: dict[str, int] = {}
    for step in reading.steps:
        for name in _HELPER.findall(step.message or "") if step.source == "agent" else ():
            if name in offered and not hands_in(name):
                named[name] += 1
                first.setdefault(name, step.index)
    called = {act.call.name for act in reading.acts}
    code = "\n".join(text for act in reading.acts for text in texts(act.call.arguments))
    unused = [
        name for name, count in named.items() if count >= _NAMED and name not in called and f"{name}(" not in code
    ]
    if not unused:
        return ()
    most = max(unused, key=lambda name: named[name])
    evidence = f"{most} was planned {named[most]} times, and never called"
    return (_found("goal_drift", "unused_helper", first[most], evidence, 0.6),)


def _answers(act: Act) -> bool:
    """Whether a call hands in: by its own name, or by code that does nothing else."""
    if hands_in(act.call.name):
        return True
    code = (act.call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def _found(failure: Failure, kind: Kind, step: int, evidence: str, confidence: float) -> Diagnosis:
    return Diagnosis(
        failure=failure, kind=kind, origin_step=step, evidence=evidence, confidence=confidence, version=VERSION
    )
