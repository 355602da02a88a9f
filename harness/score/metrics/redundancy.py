"""The share of calls that repeated earlier ones without effect."""

from typing import ClassVar

from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.reading import read


class Redundancy:
    """Redundant calls / calls made; share, 0 to 1, less being better.

    Redundant: the very same call (tool and arguments by the schema) was made before, no call of a writing tool that
    succeeded was made in between, and the answer is the same again: nothing could be learned and nothing was changed. A
    write made again is redundant only where both were refused alike. Excluded: calls refused by the step limit and,
    where the gateway observed any call, self-reported calls. None where no call was made.
    """

    name: ClassVar[str] = "redundancy"
    version: ClassVar[str] = "1"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        evidence = evidence.credited
        calls = evidence.made_calls
        if not calls:
            return None, "no call was made"
        made = {id(call) for call in calls}
        latest: dict[str, Act] = {}
        redundant = 0
        for act in read(evidence).acts:
            if id(act.call) not in made:
                continue
            before = latest.get(act.key)
            redundant += before is not None and before.answer == act.answer
            if act.writes and not act.failed:
                latest.clear()
            else:
                latest[act.key] = act
        return redundant / len(calls), f"{redundant} of {len(calls)} calls repeat an earlier one to no purpose"
