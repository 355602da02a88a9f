"""Divides questions by case into three parts: for training, for choosing, and for one evaluation at the end."""

import hashlib
import math
from collections.abc import Sequence

from harness.errors import UsageError
from harness.judge.lab.calibration.question import Question
from harness.values import Frozen, digest_of

_SHARES = (0.4, 0.3, 0.3)


class Split(Frozen):
    """All questions of one case are in the same part, so that training data of a case cannot affect its evaluation."""

    train: tuple[Question, ...]
    validation: tuple[Question, ...]
    held_out: tuple[Question, ...]

    @property
    def held_out_digest(self) -> str:
        """The digest of the held-out questions and their answers, to detect whether they were used before."""
        return digest_of(sorted((one.id, one.right) for one in self.held_out))


def split_by_case(questions: Sequence[Question], seed: int = 0) -> Split:
    """40 % of the cases for training, 30 % for validation, 30 % held out, at least one each.

    Cases with a label `fail` are distributed separately from the others, so that each part has some where there are at
    least three. The same labels and seed always give the same split. Raises UsageError for fewer than three cases.
    """
    failing = {one.case_id for one in questions if one.right == "fail"}
    others = {one.case_id for one in questions} - failing
    if len(failing) + len(others) < 3:
        raise UsageError(
            f"labels of {len(failing) + len(others)} cases cannot be split into training, validation and held-out",
            remedy="label more cases; thirty give a first idea",
        )
    parts: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    for group in (failing, others):
        for part, dealt in zip(parts, _dealt(_shuffled(group, seed), parts), strict=True):
            part.update(dealt)
    train, validation, held_out = (tuple(one for one in questions if one.case_id in part) for part in parts)
    return Split(train=train, validation=validation, held_out=held_out)


def deal_cases(cases: set[str], seed: int = 0) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Training, validation and held-out cases (40, 30, 30 %) of at least three, by the digests of their ids."""
    train, validation, held_out = _dealt(_shuffled(cases, seed), (set(), set(), set()))
    return tuple(train), tuple(validation), tuple(held_out)


def _shuffled(cases: set[str], seed: int) -> list[str]:
    return sorted(cases, key=lambda case: hashlib.sha256(f"{seed}:{case}".encode()).digest())


def _dealt(cases: list[str], parts: Sequence[set[str]]) -> tuple[list[str], list[str], list[str]]:
    """Parts that are still empty come first where there are too few cases for all."""
    if len(cases) < 3:
        order = sorted(range(3), key=lambda place: (len(parts[place]), -place))
        dealt: tuple[list[str], list[str], list[str]] = ([], [], [])
        for place, case in zip(order, cases, strict=False):
            dealt[place].append(case)
        return dealt
    held_out = max(1, math.floor(_SHARES[2] * len(cases)))
    validation = max(1, math.floor(_SHARES[1] * len(cases)))
    return cases[held_out + validation :], cases[held_out : held_out + validation], cases[:held_out]
