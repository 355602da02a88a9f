"""Domains of rubrics trial by trial, for two runs that were judged by the same rubric."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.judge import JudgeIdentity, Rubric, RubricScore
from harness.report.figures.judged import rubric_scores
from harness.results import RunFolder, TrialKey, judged_rubrics


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """One rubric that both runs were judged by, word for word."""

    rubric: Rubric
    before: Mapping[TrialKey, RubricScore]
    after: Mapping[TrialKey, RubricScore]
    judges: tuple[frozenset[JudgeIdentity], frozenset[JudgeIdentity]]
    """The judges whose verdicts count, before and after; None for criteria that code decides."""

    def values(self, domain: str) -> list[tuple[str, float, float]]:
        """Case, value before and value after of each trial in which the domain has a value in both runs."""
        found = []
        for key, score in self.after.items():
            old, new = _value(self.before.get(key), domain), _value(score, domain)
            if old is not None and new is not None:
                found.append((key[0], old, new))
        return found


def judged_pairs(before: RunFolder, after: RunFolder) -> tuple[tuple[JudgedPair, ...], tuple[str, ...]]:
    """The rubrics that both runs were judged by, and the reasons why others are left out."""
    old_names, new_names = judged_rubrics(before.path), judged_rubrics(after.path)
    pairs: list[JudgedPair] = []
    left_out: list[str] = []
    for name in dict.fromkeys((*old_names, *new_names)):
        old, new = rubric_scores(before.path, name), rubric_scores(after.path, name)
        if old is None or new is None:
            missing = before if old is None else after
            left_out.append(f"rubric {name}: run {missing.manifest.run} was not judged by it")
        elif old.rubric != new.rubric:
            left_out.append(f"rubric {name}: it changed between the judgements of the runs; judge the older one again")
        else:
            judges = (old.judges, new.judges)
            pairs.append(JudgedPair(rubric=old.rubric, before=old.scores, after=new.scores, judges=judges))
    return tuple(pairs), tuple(left_out)


def _value(score: RubricScore | None, domain: str) -> float | None:
    if score is None:
        return None
    return next((one.value for one in score.domains if one.domain == domain), None)
