"""The changes of a run to its cassettes: recordings that were added, kept and replaced, and calls that could not be
recorded.
"""

from collections import Counter
from collections.abc import Iterable

from harness.trace import RecordingReport
from harness.values import Frozen


class RecordedCassette(Frozen):
    """The cassette of one case, over all trials of the run."""

    case: str
    added: int
    kept: int
    marked: int
    replaced: int
    dropped: int
    levelled: int
    differing: tuple[str, ...]
    failed: dict[str, int]
    unsettled: int
    advice: tuple[str, ...]
    """See RecordingReport for all of them."""


def recorded_cassettes(reports: Iterable[tuple[str, RecordingReport]]) -> tuple[RecordedCassette, ...]:
    """By case, in the order of their first trial; `reports` are (case, what became of its cassette)."""
    found: dict[str, list[RecordingReport]] = {}
    for case, report in reports:
        found.setdefault(case, []).append(report)
    return tuple(_of_case(case, own) for case, own in found.items())


def _of_case(case: str, own: list[RecordingReport]) -> RecordedCassette:
    failed: Counter[str] = Counter()
    for one in own:
        failed.update(one.failed)
    return RecordedCassette(
        case=case,
        added=sum(one.added for one in own),
        kept=sum(one.kept for one in own),
        marked=sum(one.marked for one in own),
        replaced=sum(one.replaced for one in own),
        dropped=sum(one.dropped for one in own),
        levelled=sum(one.levelled for one in own),
        differing=tuple(sorted({tool for one in own for tool in one.differing})),
        failed=dict(sorted(failed.items())),
        unsettled=sum(one.unsettled for one in own),
        advice=tuple(dict.fromkeys(line for one in own for line in one.advice)),
    )
