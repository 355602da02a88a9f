"""Where each candidate came from, and what an optimisation raises and must not harm."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from harness.disk import make_folder, read_plain_file, write_atomically
from harness.errors import ResultsError
from harness.improve.candidates import Candidate
from harness.improve.rollouts import Rollout, whole_mean
from harness.improve.trial_verdict import CHECKS, mean, means
from harness.judging.verdicts import weighted_mean
from harness.suite.problems import first_words
from harness.values import Frozen

_NOTHING = 1e-9

Stored = TypeVar("Stored", bound=Frozen)


class WeightedObjective(Frozen):
    """The suite's checks and the rubric on one scale, and the rubric's domains of safety."""

    weights: Mapping[str, float] = {}
    """Domain -> weight; a domain that is not named weighs 1."""
    checks: float = 0.5
    """Weight of the domain `checks`, between 0 and 1; the mean of the other domains has the rest."""
    safety: tuple[str, ...] = ()

    def score(self, rollout: Rollout) -> float | None:
        """checks * (share of checks passed) + (1 - checks) * (mean of the other domains by weight), from 0 to 1.

        If one of both could not be determined, the other one; None if neither could.
        """
        judged = {name: value for name, value in rollout.domains.items() if name != CHECKS}
        rubric = weighted_mean(judged, {name: self.weights.get(name, 1.0) for name in judged})
        return weighted_mean(
            {CHECKS: rollout.domains.get(CHECKS), "rubric": rubric}, {CHECKS: self.checks, "rubric": 1 - self.checks}
        )

    def breaches(self, before: Sequence[Rollout], after: Sequence[Rollout], margin: float = 0.0) -> tuple[str, ...]:
        """What vetoes `after`, by name: a critical criterion or forbidden effect that occurs more often than in
        `before`, and a domain of safety that is lower by more than `margin`.

        Both are compared on the cases that were measured under both. With a margin of 0 every loss counts.
        """
        pairs = measured_pairs(self, before, after)
        then = Counter(name for one, _ in pairs for name in one.vetoes)
        now = Counter(name for _, one in pairs for name in one.vetoes)
        found = [name for name in sorted(now) if now[name] > then[name]]
        for domain in self.safety:
            broken = [
                (was, becomes)
                for was, becomes in ((one.domains.get(domain), other.domains.get(domain)) for one, other in pairs)
                if was is not None and becomes is not None
            ]
            lost = math.fsum(was - becomes for was, becomes in broken) / max(1, len(broken))
            if lost > margin + _NOTHING:
                found.append(f"domain {domain}")
        return tuple(found)


def measured_pairs(
    objective: WeightedObjective, before: Sequence[Rollout], after: Sequence[Rollout]
) -> list[tuple[Rollout, Rollout]]:
    """The rollouts of the same case that were measured under both candidates, in the order of `before`."""
    by_case = {one.case: one for one in after if objective.score(one) is not None}
    return [(one, by_case[one.case]) for one in before if one.case in by_case and objective.score(one) is not None]


def mean_score(objective: WeightedObjective, rollouts: Sequence[Rollout]) -> float | None:
    """Over the cases that were measured; None if none was."""
    return mean([objective.score(one) for one in rollouts])


# Where each candidate came from, as files of a run folder.
#
# candidates/<id>/candidate.json, texts/   the candidate itself
# candidates/<id>/shown.md                 the requests that its proposal answered
# candidates/<id>/record.json              parent, optimiser, cases shown, scores by part and domain, vetoes, calls
# refused.jsonl                            proposals that could not be used, and why

_RECORD = "record.json"
PRUNING: Final = "pruning"
"""Stands for the optimiser of a candidate that leaves out changes of its parent."""


class PartScore(Frozen):
    """A candidate on one part of the cases."""

    cases: int
    measured: int
    """Cases whose score could be determined."""
    score: float | None
    domains: Mapping[str, float | None]
    criteria: Mapping[str, float | None] = {}
    """Criterion -> share of the rollouts in which it passed, among those in which it was decided."""
    vetoes: Mapping[str, int]
    """Critical criterion or forbidden effect -> how often."""
    steps: float
    """Mean number of steps."""
    cost_usd: float | None
    """Mean cost; None if one rollout has no price."""
    calls: int


class CandidateRecord(Frozen):
    """One candidate of an optimisation."""

    candidate: str
    parent: str | None
    optimiser: str | None = None
    """None: the texts in use."""
    shown: tuple[str, ...] = ()
    """Training cases whose rollouts the reflector was shown."""
    parts: Mapping[str, PartScore] = {}
    """`validation`, `held_out`; `training` of a candidate made by pruning."""
    dropped: tuple[str, ...] = ()
    """Of one that prunes its parent: the changes that it leaves out, as `<file>: +<line>` and `<file>: -<line>`."""
    vetoed: Mapping[str, tuple[str, ...]] = {}
    """Where it was vetoed (`minibatch`, `parent`, `final`) -> by what."""


class Lineage:
    """Records of all candidates; without a folder nothing is written."""

    def __init__(self, objective: WeightedObjective, folder: Path | None = None) -> None:
        self._objective = objective
        self._folder = folder
        self.records: dict[str, CandidateRecord] = {}
        self._refused: list[Mapping[str, object]] = []

    def add(
        self,
        candidate: Candidate,
        optimiser: str | None = None,
        *,
        requests: Sequence[str] = (),
        shown: Sequence[str] = (),
        dropped: Sequence[str] = (),
    ) -> None:
        """A new candidate, the texts in use without an optimiser; one that was proposed before keeps its first record.
        `dropped`: the changes of its parent that it leaves out.
        """
        if candidate.id in self.records:
            return
        self._write(candidate, "\n\n----\n\n".join(requests))
        record = CandidateRecord(
            candidate=candidate.id,
            parent=None if optimiser is None else candidate.parent,
            optimiser=optimiser,
            shown=tuple(shown),
            dropped=tuple(dropped),
        )
        self._store_record(record)

    def refused(self, optimiser: str, parent: Candidate, file: str, problem: str) -> None:
        """A proposal that became no candidate."""
        self._refused.append({"optimiser": optimiser, "parent": parent.id, "file": file, "why": problem})
        if self._folder is not None:
            lines = "".join(json.dumps(one) + "\n" for one in self._refused)
            write_atomically(self._folder / "refused.jsonl", lines.encode())

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why proposals became no candidate."""
        return tuple(str(one["why"]) for one in self._refused)

    def scored(self, candidate: Candidate, part: str, rollouts: Sequence[Rollout]) -> None:
        """Its rollouts of a whole part."""
        record = self.records[candidate.id]
        parts = {**record.parts, part: part_score(self._objective, rollouts)}
        self._store_record(record.model_copy(update={"parts": parts}))

    def vetoed(self, candidate: str, where: str, breaches: Sequence[str]) -> None:
        record = self.records[candidate]
        self._store_record(record.model_copy(update={"vetoed": {**record.vetoed, where: tuple(breaches)}}))

    def _store_record(self, record: CandidateRecord) -> None:
        if self.records.get(record.candidate) == record:
            return
        self.records[record.candidate] = record
        if self._folder is not None:
            path = self._folder / "candidates" / record.candidate / _RECORD
            write_atomically(path, record.model_dump_json(indent=2).encode() + b"\n")

    def _write(self, candidate: Candidate, shown: str = "") -> None:
        if self._folder is None:
            return
        folder = self._folder / "candidates" / candidate.id
        make_folder(folder)
        candidate.write(folder)
        if shown:
            write_atomically(folder / "shown.md", shown.encode())


def part_score(objective: WeightedObjective, rollouts: Sequence[Rollout]) -> PartScore:
    """The figures of one candidate on one part of the cases."""
    return PartScore(
        cases=len(rollouts),
        measured=sum(objective.score(one) is not None for one in rollouts),
        score=mean_score(objective, rollouts),
        domains=means([one.domains for one in rollouts]),
        criteria=means([one.criteria for one in rollouts]),
        vetoes=Counter(name for one in rollouts for name in one.vetoes),
        steps=sum(one.steps for one in rollouts) / max(1, len(rollouts)),
        cost_usd=whole_mean([one.cost_usd for one in rollouts]),
        calls=sum(one.calls for one in rollouts),
    )


def read_records(folder: Path) -> dict[str, CandidateRecord]:
    """The records of an optimisation's folder by candidate, the texts in use first. Raises ResultsError."""
    found = {}
    for path in sorted(folder.glob(f"candidates/*/{_RECORD}")):
        record = parsed_file(path, CandidateRecord)
        if record.candidate != path.parent.name:
            raise ResultsError(f"{path} is the record of {record.candidate!r}, which its folder is not named after")
        found[record.candidate] = record
    return dict(sorted(found.items(), key=lambda one: (one[1].parent is not None, one[0])))


def parsed_file(path: Path, shape: type[Stored]) -> Stored:
    """Raises ResultsError."""
    try:
        return shape.model_validate_json(read_plain_file(path))
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        field, problem = first_words(error)
        raise ResultsError(f"{path} cannot be read: field {field!r}: {problem}") from None
