"""What a run recorded into its cassettes: sums by case, and a line only for what there is."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.render.sections import recorded_lines
from harness.reports.replay import recorded_cassettes
from harness.reports.summarising import summarise
from harness.runs.store.manifest import RunManifest
from harness.traces.trial import RecordingReport

NUMBERS = ("added", "kept", "replaced", "levelled", "unsettled")


def test_the_recordings_of_a_case_are_the_sum_of_its_trials() -> None:
    values = {name: place for place, name in enumerate(NUMBERS, 1)}
    one = RecordingReport(failed={"pay": 1, "add": 2}, differing=("b",), **values)
    other = RecordingReport(failed={"pay": 4}, differing=("a", "b"), added=10)
    first, second = recorded_cassettes([("k", one), ("j", RecordingReport()), ("k", other)])
    assert ("k", "j", 0, {}) == (first.case, second.case, second.added, second.failed)
    assert {**values, "added": 11} == {name: getattr(first, name) for name in NUMBERS}
    assert [("add", 2), ("pay", 5)] == list(first.failed.items())
    assert ("a", "b") == first.differing


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        ({}, ["0 added, 0 kept, 0 replaced, 0 failed"]),
        (
            {"added": 1, "kept": 2, "replaced": 3, "failed": {"pay": 2, "add": 2}},
            ["1 added, 2 kept, 3 replaced, 4 failed", "add (2), pay (2)"],
        ),
        ({"levelled": 1}, ["0 failed", "1 answers"]),
        ({"unreadable": {"pay": 2}}, ["2 failed", "pay (2); correct the tool"]),
        ({"ignored": {"model: ignore: a": 0, "tool: ignore: b": 2}}, ["0 failed", "none of", "2 of"]),
        ({"unsettled": 1}, ["0 failed", "1 answers; record again"]),
        ({"differing": ("a", "b")}, ["0 failed", "a, b; the recorded ones are kept"]),
        ({"differing": ("a",), "replaced": 1}, ["1 replaced, 0 failed", "differ from the recorded ones: a"]),
    ],
)
def test_a_cassette_has_a_line_for_each_thing_that_became_of_it(
    manifest: Callable[..., RunManifest], report: dict[str, Any], lines: list[str]
) -> None:
    found = recorded_cassettes([("k", RecordingReport(**report))])
    shown = recorded_lines(summarise(manifest(), []).model_copy(update={"recorded": found}))
    assert len(lines) == len(shown)
    assert all(words in line for words, line in zip(lines, shown, strict=True))
    assert shown[0].startswith("cassette drive_thru/k: ")
    assert ("are kept" in "".join(shown)) == ("differing" in report and "replaced" not in report)
