"""Agreement: a judge beside people, beside verdicts, and people beside each other."""

from harness.judge.agreement.binary import AgreementRate, AnswerPair, BinaryAgreement, binary_agreement
from harness.judge.agreement.chance import cohen_kappa, krippendorff_alpha, position_consistency
from harness.judge.agreement.comparing import (
    AgreementReport,
    AgreementRow,
    Disagreement,
    Right,
    against_labels,
    compare,
    item_of,
)
from harness.judge.agreement.people import People, PeopleAgreement

__all__ = [
    "AgreementRate",
    "AgreementReport",
    "AgreementRow",
    "AnswerPair",
    "BinaryAgreement",
    "Disagreement",
    "People",
    "PeopleAgreement",
    "Right",
    "against_labels",
    "binary_agreement",
    "cohen_kappa",
    "compare",
    "item_of",
    "krippendorff_alpha",
    "position_consistency",
]
