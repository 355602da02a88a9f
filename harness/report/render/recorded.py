"""Describes the changes of the cassettes that a run recorded."""

from collections.abc import Iterator

from harness.report.figures.recorded import RecordedCassette
from harness.report.figures.summary import Summary


def recorded_lines(summary: Summary) -> list[str]:
    """A line for each cassette, followed by the calls that were not recorded and the reasons; empty where nothing was
    recorded.
    """
    return [line for one in summary.recorded for line in _lines(one, summary.manifest.suite)]


def _lines(one: RecordedCassette, suite: str) -> Iterator[str]:
    failed = sum(one.failed.values())
    yield (
        f"cassette {suite}/{one.case}: {one.added} added, {one.kept} kept, {one.replaced} replaced, {failed} failed"
        + (f", {one.dropped} dropped (they depend on a lost write)" if one.dropped else "")
    )
    if one.marked:
        yield f"  provenance added to {one.marked} of the kept recordings: the current answer is the same"
    if one.levelled:
        yield f"  {one.levelled} answers were given from the cassette: the current ones differ only in values"
    if one.failed:
        calls = ", ".join(f"{tool} ({count})" for tool, count in one.failed.items())
        yield f"  not recorded, because the connection failed, timed out or the server was busy: {calls}; record again"
    if one.unsettled:
        yield f"  not recorded, because they follow a lost write: {one.unsettled} answers; record again"
    if one.differing:
        tools = ", ".join(one.differing)
        remedy = "" if one.replaced else "; the recorded ones are kept, --refresh replaces them"
        yield f"  the current answers differ from the recorded ones: {tools}{remedy}"
    for line in one.advice:
        yield f"  {line}"
