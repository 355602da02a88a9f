"""A criterion of a rubric as a check: decided by a judgement that is stored with the trial, never by asking a judge."""

from typing import ClassVar

from pydantic import Field

from harness.score.evidence import Evidence
from harness.values import Frozen, JsonObject


class CriterionMet(Frozen):
    """The judge found the criterion met, in its latest judgement of the trial.

    Judgements are made after a run: `harness judge run RUN --rubric NAME`, and then `harness score RUN`. Until then,
    where the criterion is not eligible, and where the judge failed, the check is undecided. A judgement of another
    trajectory does not count.
    """

    version: ClassVar[str] = "1"

    rubric: str = Field(min_length=1, max_length=200)
    """Name of the rubric, as it stands in its file."""
    criterion: str = Field(min_length=1, max_length=200)
    """Id of the criterion within it."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        own = [one for one in evidence.judged if (one.rubric, one.criterion) == (self.rubric, self.criterion)]
        if not own:
            how = f"harness judge run RUN --rubric {self.rubric}, then harness score RUN"
            return None, f"no judgement of {self.criterion!r} is stored: {how}", {}
        return own[-1].passed, own[-1].reason or f"the judge answered {own[-1].passed}", {"judge": own[-1].judge}
