"""A blind sample of new verdicts for people, to detect whether a calibrated judge still agrees with them as agents
change.
"""

import hashlib
from collections.abc import Collection, Sequence

from harness.judge.judgement import Judgement
from harness.judge.lab.agreement import item_of
from harness.judge.lab.annotation import PER_ITEM, AnnotationTask
from harness.judge.labels import LabelItem, SortedLabels


def audit_sample(
    work: Sequence[AnnotationTask], judgements: Collection[Judgement], labels: SortedLabels, size: int, seed: int = 0
) -> list[AnnotationTask]:
    """`size` random judged items, in random order.

    The same verdicts and seed give every person the same sample, so that two people answer the same items. Items that
    two people have labelled before are not new. It is a plain random sample, so that agreement on it is that of all new
    verdicts.
    """
    judged = {item_of(one) for one in judgements if one.failure is None}
    known = {one.item for one in labels.items if len(one.labels) >= PER_ITEM or one.adjudication is not None}
    drawn = [one for one in work if one.item in judged and one.item not in known]
    return sorted(drawn, key=lambda one: lot(one.item, seed))[:size]


def lot(item: LabelItem, seed: int) -> bytes:
    """The sort key of the sample: the same for everybody, and independent of the item's content."""
    return hashlib.sha256(f"{seed}:{item.case_id}:{item.trajectory}:{item.criterion}".encode()).digest()
