"""Mocked beside live: how far apart they are, and what each case that differs is due to."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from harness.reports.compare import Comparison, compare
from harness.reports.divergence import CaseDivergence, RunDivergence
from harness.reports.render.markdown import comparison_json, comparison_markdown
from harness.runs.store.drift_report import DriftFinding, DriftReport
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]
Compared = Callable[..., Comparison]


def finding(**fields: Any) -> DriftFinding:
    values = {
        "tool": "menu",
        "operation": "menu",
        "change": "schema.removed",
        "severity": "breaking",
        "path": "$.price",
        "old_kind": "number",
        "new_kind": "absent",
        **fields,
    }
    return DriftFinding.model_validate(values)


def looked(*findings: DriftFinding, unconfirmed: tuple[DriftFinding, ...] = ()) -> DriftReport:
    return DriftReport(
        suite="drive_thru",
        run="live",
        seen=datetime(2026, 1, 31, tzinfo=UTC),
        command="harness drift compare live",
        findings=findings,
        unconfirmed=unconfirmed,
        exercised={"menu": ("menu $.price",)},
    )


@pytest.fixture
def compared(card: Card, manifest: Manifest) -> Compared:
    """One word a case and mode, one letter an attempt: + succeeded, - failed, ? not measured."""

    def run(mocked: str, live: str, drift: DriftReport | None = None, **fields: Any) -> Comparison:
        def cards(words: str) -> list[Scorecard]:
            marks = [(case, n, mark) for case, word in enumerate(words.split()) for n, mark in enumerate(word, 1)]
            unknown = {"success": None, "outcome": "inconclusive"}
            return [
                card(str(case), attempt=n, **(unknown if mark == "?" else {"success": mark == "+"}))
                for case, n, mark in marks
            ]

        old, new = cards(mocked), cards(live)
        modes = {"tool_mode": "live", **fields}
        return compare(manifest(old, "mock"), old, manifest(new, "live", **modes), new, drift)

    return run


def found(comparison: Comparison) -> RunDivergence:
    assert comparison.divergence is not None
    return comparison.divergence


def only(comparison: Comparison) -> CaseDivergence:
    (case,) = found(comparison).cases
    return case


def test_both_successes_stand_side_by_side_with_a_paired_interval(compared: Compared) -> None:
    one = found(compared("+ + + + - ?", "+ + - - + +")).success

    assert (5, 4 / 5, 3 / 5) == (one.pairs, one.before, one.after)
    assert one.interval is not None
    assert one.interval.low < -1 / 5 < one.interval.high


def test_the_order_in_which_the_runs_are_named_does_not_matter(
    compared: Compared, card: Card, manifest: Manifest
) -> None:
    mock, live = [card("a", True)], [card("a", False)]
    turned = compare(manifest(live, "live", tool_mode="live"), live, manifest(mock, "mock"), mock)

    assert ("mock", "live") == (found(turned).mocked_run, found(turned).live_run)
    assert (1, 0) == (found(turned).success.before, found(turned).success.after)


@pytest.mark.parametrize("fields", [{"tool_mode": "replay"}, {"agent_digest": "b" * 64}])
def test_two_mocked_runs_and_two_agents_are_no_such_pair(compared: Compared, fields: dict[str, str]) -> None:
    assert compared("+", "-", **fields).divergence is None


def test_a_verdict_that_flips_back_with_the_recorded_answer_is_down_to_the_tool(compared: Compared) -> None:
    drift = looked(finding(cases=("0",), flips=("0",)))
    case = only(compared("++ ++", "-- ++", drift))

    assert ("0", "tool", ("menu",)) == (case.case_id, case.cause, case.tools)
    assert "menu $.price: number → absent" in case.because


def test_attempts_that_differ_among_themselves_are_chance(compared: Compared) -> None:
    for mocked, live in (("+++", "+--"), ("+-", "--")):
        case = only(compared(mocked, live, looked()))
        assert "chance" == case.cause


def test_where_a_tool_flips_the_verdict_chance_is_not_asked(compared: Compared) -> None:
    drift = looked(finding(cases=("0",), flips=("0",)))
    assert "tool" == only(compared("+-", "--", drift)).cause


def test_without_drift_and_without_chance_it_is_the_agent(compared: Compared) -> None:
    elsewhere = looked(finding(cases=("7",), flips=("7",)))
    assert "agent" == only(compared("++", "--", elsewhere)).cause


@pytest.mark.parametrize(
    ("words", "drift", "why"),
    [
        (("++", "--"), None, "drift was not checked in the live run: harness drift compare live"),
        (("++", "--"), looked(finding(cases=("0",))), "menu drifted, but it is unknown whether the recorded answer"),
        (
            ("++", "--"),
            looked(
                unconfirmed=(
                    finding(cases=("9",), doubt="seen elsewhere", tool="order"),
                    finding(cases=("0",), doubt="seen once"),
                    finding(cases=("0",), doubt="seen late", tool="pay"),
                )
            ),
            "menu may have drifted, but this is not confirmed: seen once",
        ),
        (("+", "-"), looked(), "there is one attempt in each mode, so it may be chance: repeat with --trials"),
    ],
)
def test_what_is_not_known_cannot_be_told_and_says_why(
    compared: Compared, words: tuple[str, str], drift: DriftReport | None, why: str
) -> None:
    case = only(compared(*words, drift))

    assert "cannot_tell" == case.cause
    assert why in case.because


def test_what_nobody_measured_differs_in_nothing(compared: Compared) -> None:
    assert () == found(compared("+ ?", "+ -", looked())).cases


def test_markdown_and_json_hold_it(compared: Compared) -> None:
    comparison = compared("++ ++ ++", "-- ++ --", looked(finding(cases=("0",), flips=("0",))))
    text = comparison_markdown(comparison)

    assert "## Replayed and live" in text
    assert "| all cases | 100 % | 33 % | 2 of 3 differ |" in text
    assert "| 0 | 2/2 | 0/2 | tool: menu |" in text
    assert "| 2 | 2/2 | 0/2 | agent |" in text
    assert "live (live) less mocked (mock): -67 pt (95 %:" in text
    assert '"cause": "agent"' in comparison_json(comparison)
