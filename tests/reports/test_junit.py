"""Times, streams and counts in JUnit."""

from collections.abc import Callable
from xml.etree import ElementTree as ET

from harness.reports.durations import PrintedEnd
from harness.reports.render.markdown import junit_xml
from harness.reports.summarising import summarise
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


def test_junit_has_the_times_of_trials_and_the_last_output_of_those_without_success(
    card: Card, manifest: Manifest
) -> None:
    cards = [card("a", category="x"), card("b", False, category="x"), card("c", category="y")]
    made = summarise(manifest(cards, release="r1"), cards)
    end = PrintedEnd(stream="stderr", lines=("Traceback", "Error"), kept_bytes=10, printed_bytes=20)
    out = PrintedEnd(stream="stdout", lines=("half",), kept_bytes=10, printed_bytes=10)
    failed = tuple(one.model_copy(update={"printed": (end, out)}) for one in made.failed)
    shown = made.model_copy(update={"failed": failed, "seconds": {"a/1": 1.5, "b/1": 0.25}, "provenances": {"hand": 1}})
    root = ET.fromstring(junit_xml(shown, cards))
    assert {"a/1": "1.500", "b/1": "0.250", "c/1": None} == {
        str(one.get("name")): one.get("time") for one in root.iter("testcase")
    }
    assert [("x", "1.750", "2", "1"), ("y", None, "1", "0")] == [
        (one.get("name"), one.get("time"), one.get("tests"), one.get("failures")) for one in root.iter("testsuite")
    ]
    assert "1.750" == root.get("time")
    [error] = root.iter("system-err")
    [output] = root.iter("system-out")
    assert ["Traceback", "Error"] == (error.text or "").splitlines()[1:]
    assert "half" == output.text
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert ("run", "r1", "1 written by hand") == (
        properties["run"],
        properties["release"],
        properties["provenance"],
    )


def test_a_case_without_a_check_is_skipped_in_junit(card: Card, manifest: Manifest) -> None:
    cards = [card("a", None, verdicts=())]
    [test] = ET.fromstring(junit_xml(summarise(manifest(cards), cards), cards)).iter("testcase")
    assert [("skipped", "the case has no check")] == [(part.tag, part.get("message")) for part in test]
