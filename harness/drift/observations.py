"""The observations of each recorded call, and the changes that are certain enough to report."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.cassette import Recording
from harness.drift.change import Change
from harness.drift.comparing.answer import Answer, answer_of, why_not_comparable
from harness.drift.comparing.compare import Compared
from harness.drift.operation_index import OperationIndex, operation_of
from harness.drift.turns import comes_by_turns, disagree
from harness.results import DriftFinding, Severity

ALONE = 3
"""The number of answers to one read, including repeats, that must all show a change."""
TOGETHER = 2
"""The number of answers, from other cases or attempts, that must show it for calls that cannot be sent again."""
ORDER: dict[Severity, int] = {"breaking": 0, "warning": 1, "info": 2}


@dataclass(kw_only=True)
class CallObservations:
    """One recorded call, and all live answers to it."""

    recorded: Recording
    cases: set[str]
    answers: list[Answer] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)

    @property
    def tool(self) -> str:
        return self.recorded.mark.tool

    @property
    def operation(self) -> str:
        return operation_of(self.recorded)

    @property
    def has_changes(self) -> bool:
        return any(one.changes for one in self.compared)

    @property
    def disagrees(self) -> bool:
        return disagree(self.compared)

    def add(self, operations: OperationIndex, recorded: Recording, live: Recording) -> None:
        """Adds one more answer, and compares it with its recording."""
        old, new = answer_of(recorded), answer_of(live)
        failure = why_not_comparable(new, old)
        if failure is not None:
            self.unavailable.append(failure)
        elif not old.is_silent:
            self.answers.append(new)
            self.compared.append(operations.compare(recorded, old, new))


def findings_of(observations: Iterable[CallObservations]) -> tuple[tuple[DriftFinding, ...], tuple[DriftFinding, ...]]:
    """The confirmed and the unconfirmed findings."""
    groups: defaultdict[tuple[str, str, tuple[str, str, str]], list[CallObservations]] = defaultdict(list)
    for observation in observations:
        places = {change.place for compared in observation.compared for change in compared.changes}
        for place in places:
            groups[observation.tool, observation.operation, place].append(observation)
    found = [_finding(tool, operation, own, place) for (tool, operation, place), own in groups.items()]
    return in_order(one for one in found if one.doubt is None), in_order(one for one in found if one.doubt is not None)


def exercised_by(observations: Iterable[CallObservations]) -> dict[str, tuple[str, ...]]:
    """Every `operation path` in a live answer, by tool."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for observation in observations:
        for compared in observation.compared:
            seen[observation.tool].update(f"{observation.operation} {path}" for path in compared.paths)
    return {tool: tuple(sorted(paths)) for tool, paths in sorted(seen.items())}


def unavailable_in(observations: Iterable[CallObservations]) -> tuple[str, ...]:
    """Describes tools whose calls all failed, and how often calls of others did."""
    own: defaultdict[str, list[CallObservations]] = defaultdict(list)
    for observation in observations:
        own[observation.tool].append(observation)
    return tuple(words for tool, observations in sorted(own.items()) for words in _unavailable(tool, observations))


def in_order(findings: Iterable[DriftFinding]) -> tuple[DriftFinding, ...]:
    """The findings sorted by tool, severity, operation and path."""
    return tuple(
        sorted(findings, key=lambda one: (one.tool, ORDER[one.severity], one.operation, one.path, one.fingerprint))
    )


def _unavailable(tool: str, observations: Sequence[CallObservations]) -> Iterable[str]:
    reasons = [reason for observation in observations for reason in observation.unavailable]
    if not reasons:
        return
    answered = sum(1 for observation in observations if observation.compared)
    often = "never answered" if not answered else f"{len(reasons)} calls without an answer, {answered} with one"
    yield f"{tool}: {often}: {', '.join(sorted(set(reasons)))}"


def _finding(
    tool: str, operation: str, observations: Sequence[CallObservations], place: tuple[str, str, str]
) -> DriftFinding:
    shown = [[_shown(compared, place) for compared in observation.compared] for observation in observations]
    hits = [[change for change in one if change is not None] for one in shown]
    example = next(change for one in hits for change in one)
    doubts = {change.doubt for one in hits for change in one if change.doubt is not None}
    cases = tuple(sorted({case for observation in observations for case in observation.cases}))
    answers, seen = sum(map(len, shown)), sum(map(len, hits))
    if not doubts and any(comes_by_turns(observation.compared, place) for observation in observations):
        return example.finding(tool, operation, cases, samples=seen, answers=answers)
    doubt = _doubt(shown, hits) or (min(doubts) if doubts else None)
    return example.finding(tool, operation, cases, samples=seen, doubt=doubt)


def _doubt(shown: Sequence[Sequence[Change | None]], hits: Sequence[Sequence[Change]]) -> str | None:
    answers, seen = sum(map(len, shown)), sum(map(len, hits))
    if seen < answers:
        return (
            f"asked again, the same call was answered otherwise: {seen} of {answers} answers show it"
            " (a release that rolls out, or a value that comes and goes)"
        )
    if any(len(one) >= ALONE for one in hits) or seen >= TOGETHER:
        return None
    return "seen once: no other case or attempt made such a call, and it could not be sent again"


def _shown(compared: Compared, place: tuple[str, str, str]) -> Change | None:
    return next((change for change in compared.changes if change.place == place), None)
