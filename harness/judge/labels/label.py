"""A person's answer to one criterion of one trajectory."""

from typing import Annotated, Literal

from pydantic import Field

from harness.values import Frozen

PersonAnswer = Literal["pass", "fail", "not_eligible", "unsure"]
"""`unsure`: the evidence does not decide the question. It is stored and counted, and agrees with no answer."""

Annotator = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,59}$")]


class LabelItem(Frozen):
    """One criterion of one trajectory: what is labelled and judged."""

    case_id: str
    trajectory: str
    criterion: str


class Label(Frozen):
    """One line of a label file. It belongs to the trajectory's digest, so it is valid for every run in which the agent
    did the same."""

    annotator: Annotator
    run: str
    """The run in which it was labelled, for information."""
    case_id: str
    attempt: int
    trajectory: str
    """Digest of the trajectory."""
    rubric: str
    criterion: str
    """Id of the criterion, or of an item of a checklist (`<id>.<n>`)."""
    criterion_version: str
    answer: PersonAnswer
    note: str = ""
    time: str
    """ISO 8601, UTC."""
    role: Literal["annotator", "adjudicator"] = "annotator"
    """An adjudicator decides where two annotators differ, having seen both answers."""
    revises: bool = False
    """The annotator changed an earlier answer. Without it two different answers contradict each other."""

    @property
    def item(self) -> LabelItem:
        """The labelled item."""
        return LabelItem(case_id=self.case_id, trajectory=self.trajectory, criterion=self.criterion)


Settled = Literal["single", "agreed", "adjudicated", "contested", "unsure"]
"""How an item's answer was determined; the last two have no answer."""


class LabelledItem(Frozen):
    """An item with all its labels."""

    item: LabelItem
    labels: tuple[Label, ...]
    """The last label of each annotator, in the order of their creation."""
    adjudication: Label | None = None

    @property
    def settled(self) -> Settled:
        """How the answer was determined."""
        if self.adjudication is not None:
            return "unsure" if self.adjudication.answer == "unsure" else "adjudicated"
        answers = {label.answer for label in self.labels}
        if len(answers) > 1:
            return "contested"
        if answers == {"unsure"}:
            return "unsure"
        return "single" if len(self.labels) == 1 else "agreed"

    @property
    def answer(self) -> Literal["pass", "fail", "not_eligible"] | None:
        """The reference answer; None where it is contested, or where nobody could decide."""
        if self.settled in ("contested", "unsure"):
            return None
        label = self.adjudication or self.labels[0]
        return None if label.answer == "unsure" else label.answer
