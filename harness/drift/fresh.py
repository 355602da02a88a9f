"""The live answers that show confirmed drift, by the case whose recording they would replace."""

from collections.abc import Collection, Iterable

from harness.cassette import LiveCassette, Recording
from harness.drift.comparing.answer import answer_of, why_not_comparable
from harness.drift.operation_index import OperationIndex, operation_of
from harness.results import DriftFinding

Place = tuple[str, str, int]


def fresh_answers(
    cassettes: Iterable[LiveCassette], operations: OperationIndex, findings: Iterable[DriftFinding]
) -> dict[str, dict[Place, Recording]]:
    """Case -> place on its cassette -> live answer. Of several live answers to one call, the first."""
    wanted = {(one.tool, one.operation, one.change, one.path, f"{one.old_kind}>{one.new_kind}") for one in findings}
    fresh: dict[str, dict[Place, Recording]] = {}
    for kept in cassettes:
        cases = operations.cassettes if kept.case is None else {kept.case} & set(operations.cassettes)
        for live in kept.load().recordings:
            for case in cases:
                if _shows(operations, case, live, wanted):
                    fresh.setdefault(case, {}).setdefault(live.place, live)
    return fresh


def _shows(operations: OperationIndex, case: str, live: Recording, wanted: Collection[tuple[str, ...]]) -> bool:
    mark = live.mark
    answers = operations.cassettes[case].answers(mark.key, mark.state)
    if mark.kind == "model" or mark.occurrence >= len(answers):
        return False
    recorded = answers[mark.occurrence]
    old, new = answer_of(recorded), answer_of(live)
    if old.is_silent or why_not_comparable(new, old) is not None:
        return False
    operation = operation_of(recorded)
    changes = operations.compare(recorded, old, new).changes
    return any((mark.tool, operation, *change.place) in wanted for change in changes)
