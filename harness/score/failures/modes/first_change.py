"""The first change that a failed run made, where nothing tells what it should have done: a place to look at first.

Not a failure by itself, and no finding: whatever a check of the world found wrong is most often what the first change
did. A call counts whose declared or worded effect is a change of something outside of the agent; shells, restarts,
hand-overs and the answer that is handed in do not.
"""

from typing import ClassVar, Final

from harness.case import deeds_in
from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.handing_over import hands_in, is_hand_over
from harness.score.failures.signals.reading import read

VERSION: Final = "1"
_CHANGES: Final = frozenset(
    {"activate", "add", "apply", "assign", "book", "buy", "cancel", "change", "close", "create", "deactivate"}
    | {"delete", "disable", "downgrade", "edit", "enable", "enroll", "exchange", "grant", "issue", "modify", "move"}
    | {"order", "pause", "pay", "place", "publish", "purchase", "rebook", "refund", "register", "remove", "rename"}
    | {"replace", "reserve", "restore", "resume", "return", "revoke", "schedule", "sell", "send", "set", "submit"}
    | {"subscribe", "suspend", "swap", "terminate", "trade", "transfer", "unsubscribe", "update", "upgrade", "void"}
)


class FirstChange:
    """Kind `first_change`: the first call that changed something, in a run that failed and has no reference."""

    name: ClassVar[str] = "first_change"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        if evidence.success is not False or evidence.case.reference is not None:
            return ()
        first = next(filter(_changes, read(evidence).acts), None)
        if first is None:
            return ()
        return (
            Diagnosis(
                failure="wrong_outcome",
                kind="first_change",
                origin_step=first.step,
                evidence=f"{first.call.name} is the first change that the run made; no reference tells which was wrong",
                confidence=0.3,
                version=VERSION,
            ),
        )


def _changes(act: Act) -> bool:
    if act.tool is None or not act.writes or act.failed or act.seen is None or act.is_code:
        return False
    if is_hand_over(act.call.name) or hands_in(act.call.name):
        return False
    return not _CHANGES.isdisjoint(deeds_in(act.tool, act.call.arguments))
