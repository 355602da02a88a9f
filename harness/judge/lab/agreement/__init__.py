"""Agreement of a judge with people, of a judge with verdicts, and of people with each other."""

from harness.judge.lab.agreement.comparing import (
    AgreementReport,
    AgreementRow,
    Disagreement,
    Right,
    against_labels,
    compare,
    item_of,
)
from harness.judge.lab.agreement.people import People, PeopleAgreement

__all__ = [
    "AgreementReport",
    "AgreementRow",
    "Disagreement",
    "People",
    "PeopleAgreement",
    "Right",
    "against_labels",
    "compare",
    "item_of",
]
