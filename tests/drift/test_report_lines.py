"""A drift report as text: what is listed of each finding, and how much of a long list is shown."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from harness.cassettes.profiles import OperationProfile, ToolProfile, Volatility
from harness.cassettes.profiles import PathProfile as Place
from harness.drift.compare import YOUNG
from harness.drift.report_text import not_asked_lines, profile_lines, report_lines
from harness.runs.store.drift_report import DriftFinding, DriftReport


def finding(path: str = "price", tool: str = "menu", **fields: Any) -> DriftFinding:
    plain: dict[str, Any] = {
        "tool": tool,
        "operation": tool,
        "change": "schema.removed",
        "severity": "breaking",
        "path": path,
        "old_kind": "number",
        "new_kind": "absent",
        "before": 1,
    }
    return DriftFinding(**plain | fields)


def lines(*findings: DriftFinding, details: int = 40, **fields: Any) -> list[str]:
    plain: dict[str, Any] = {"exercised": {"menu": ("menu price",)}, "compared": 1}
    seen = datetime(2026, 1, 2, tzinfo=UTC)
    report = DriftReport(suite="s", run="r", seen=seen, command="again", findings=findings, **plain | fields)
    return list(report_lines(report, details))


def test_a_finding_names_what_it_touches() -> None:
    one = finding(cases=tuple("abcd"), flips=tuple("abcde"), samples=2, doubt="rare")
    found = [line.strip() for line in lines(one)]
    assert {
        f"BREAKING  price: removed (number -> absent)  {one.fingerprint}",
        "before  1",
        "after   null",
        "cases   a, b, c, d",
        "changes the verdict of  a, b, c, d and 1 more",
        "not sure: rare",
    } <= set(found)
    bare = "\n".join(lines(finding()))
    assert [] == [word for word in ("cases", "verdict", "not sure") if word in bare]


def test_each_tool_is_named_once_and_no_more_findings_than_asked_are_shown() -> None:
    found = [finding("a"), finding("b"), finding("c", tool="shop", operation="GET /x"), finding("d", tool="shop")]
    shown = lines(*found, details=3)
    assert [1, 1] == [shown.count("menu"), shown.count("shop")]
    assert 1 == sum("1 more" in line for line in shown)
    assert any("GET /x: c: removed" in line for line in shown)
    assert not any(" more " in line for line in lines(*found, details=4))


def test_an_operation_is_named_if_its_tool_does_not_say_it() -> None:
    unsure = (finding("a", doubt="rare"), finding("b", tool="shop", operation="GET /x", doubt="rare"))
    assert {"  menu: a: removed", "  shop GET /x: b: removed"} <= set(lines(unconfirmed=unsure))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "none"),
        ({"exercised": {}}, "not known"),
        ({"compared": 0}, "none in the listings"),
        ({"unconfirmed": (finding(doubt=YOUNG),)}, "none confirmed; 1 value changed"),
        ({"unconfirmed": (finding(doubt=YOUNG), finding("b", doubt=YOUNG))}, "none confirmed; 2 values changed"),
        ({"unconfirmed": (finding(doubt="rare"),)}, "none"),
        ({"unavailable": ("menu: down",)}, "none in what was compared"),
        (
            {"not_asked": {"a": 1, "b": 4}, "unanswered": 1, "compared": 2},
            "none in what was compared; not probed: 6 of 8",
        ),
        ({"not_asked": {"a": 6}, "compared": 0, "exercised": {}}, "not known"),
    ],
)
def test_what_it_means_that_nothing_was_found(fields: dict[str, Any], said: str) -> None:
    assert lines(**fields)[0].startswith(f"drift of s: {said}")
    assert ("none" == said) == (lines(**fields)[0] == "drift of s: none")


@pytest.mark.parametrize(("count", "more"), [(20, False), (21, True)])
def test_at_most_twenty_changed_values_are_shown(count: int, more: bool) -> None:
    shown = lines(unconfirmed=tuple(finding(f"p{number}", doubt=YOUNG) for number in range(count)))
    assert more == any("1 more" in line for line in shown)
    assert 20 == sum(": removed" in line for line in shown)


@pytest.mark.parametrize(("count", "more"), [(5, False), (6, True)])
def test_at_most_five_lines_of_a_reason_are_shown_the_largest_group_first(count: int, more: bool) -> None:
    rare = [finding(f"p{number}", doubt="rare") for number in range(count)]
    shown = lines(unconfirmed=(finding("q", doubt="alone"), *rare))
    assert more == any("1 more" in line for line in shown)
    assert shown.index("not sure, rare:") < shown.index("not sure, alone:")


@pytest.mark.parametrize(
    ("change", "refresh", "listing"), [("schema.removed", True, False), ("surface.tool_added", False, True)]
)
def test_the_remedy_fits_what_changed(change: str, refresh: bool, listing: bool) -> None:
    shown = "\n".join(lines(finding(change=change)))
    assert (True, refresh, listing) == (
        ": again" in shown,
        "harness cassette refresh s --from r" in shown,
        "harness tool refresh s" in shown,
    )
    assert ": again" not in "\n".join(lines())


@pytest.mark.parametrize(
    ("provenance", "doubles", "compared", "asked"),
    [
        ({"service": 2}, (), False, False),
        ({"service": 2, "double": 1}, (), True, False),
        ({"double": 1}, ("menu",), False, True),
        ({"hand": 1}, ("menu",), True, True),
    ],
)
def test_recordings_that_are_not_of_a_service_are_named(
    provenance: dict[str, int], doubles: tuple[str, ...], compared: bool, asked: bool
) -> None:
    shown = "\n".join(lines(provenance=provenance, doubles=doubles))
    assert (compared, asked) == (
        "compared with recordings" in shown,
        "asked are doubles: menu" in shown,
    )


@pytest.mark.parametrize(("length", "cut"), [(158, False), (159, True)])
def test_a_wide_value_is_cut(length: int, cut: bool) -> None:
    [line] = [line for line in lines(finding(before="b" * length)) if "before" in line]
    assert cut == line.endswith("...")


def test_a_profile_tells_samples_days_and_what_changes() -> None:
    day = date(2026, 1, 2)
    clock = Place(volatile=Volatility(sittings=1))
    known = OperationProfile(samples=3, days=(day, date(2026, 1, 3)), paths={"at": clock, "": clock, "x": Place()})
    young = OperationProfile(samples=3, days=(day,))
    profile = ToolProfile(tool="menu", operations={"menu": known, "other": young})
    assert [
        "menu: 3 samples on 2 days, settled",
        "  changes by itself: at",
        "  changes by itself: the whole answer",
        "other: 3 samples on 1 day, not settled yet",
    ] == list(profile_lines(profile))


def test_reads_that_were_left_out_are_counted_by_reason() -> None:
    assert ["not asked again (2): a", "not asked again (1): b"] == list(not_asked_lines({"b": 1, "a": 2}))
