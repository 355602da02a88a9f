"""No worse than a margin: better, parity, worse or not to be told."""

from collections.abc import Callable

import pytest

from harness.errors import ExitCode, UsageError
from harness.reports.compare import Comparison, compare
from harness.reports.margin import MarginCheck, no_worse_than, refuse_unusable
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Score, Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def comparison(card: Card, manifest: Manifest) -> Callable[..., Comparison]:
    def build(before: str, after: str) -> Comparison:
        old = [card(str(i), mark == "+") for i, mark in enumerate(before)]
        new = [card(str(i), mark == "+") for i, mark in enumerate(after)]
        return compare(manifest(old), old, manifest(new, "new"), new)

    return build


def check(comparison: Comparison, spec: str = "task_success=0.05") -> MarginCheck:
    return no_worse_than(comparison, [spec])[0]


@pytest.mark.parametrize(
    ("before", "after", "margin", "standing", "code"),
    [
        ("-" * 10 + "+" * 10, "+" * 20, 0.05, "better", ExitCode.DONE),
        ("+" * 200, "+" * 200, 0.05, "parity", ExitCode.DONE),
        ("+" * 5, "+" * 5, 0.05, "cannot_tell", ExitCode.COULD_NOT),  # five that stayed are not proof
        ("+" * 20, "-" * 15 + "+" * 5, 0.05, "worse", ExitCode.VERDICT),
        ("+" * 20, "-" * 2 + "+" * 18, 0.05, "cannot_tell", ExitCode.COULD_NOT),
        ("+" * 20, "-" * 2 + "+" * 18, 0.5, "parity", ExitCode.DONE),
    ],
)
def test_the_standing_follows_the_interval(
    comparison: Callable[..., Comparison], before: str, after: str, margin: float, standing: str, code: ExitCode
) -> None:
    found = check(comparison(before, after), f"task_success={margin}")

    assert (found.standing, found.exit_code) == (standing, code)


def test_how_many_cases_would_tell_is_said(comparison: Callable[..., Comparison]) -> None:
    assert check(comparison("+" * 20, "+" * 20)).reason.endswith(
        "the interval contains -0.05; about 54 cases would be enough"
    )
    assert check(comparison("+" * 53, "+" * 53)).standing == "cannot_tell"
    assert check(comparison("+" * 54, "+" * 54)).standing == "parity"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("task_success", "expected METRIC=MARGIN"),
        ("task_success=x", "found 'x'"),
        ("task_success=%", "found '%'"),
        ("task_success=-1", "found '-1'"),
        ("nothing=1", "the runs have no metric 'nothing'"),
    ],
)
def test_a_margin_that_says_nothing_is_refused(comparison: Callable[..., Comparison], spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check(comparison("+", "+"), spec)


@pytest.mark.parametrize("spec", ["stepz=0.1", "steps", "steps=much"])
def test_an_unusable_margin_is_refused_before_runs_are_compared(manifest: Manifest, spec: str) -> None:
    runs = [manifest([]).model_copy(update={"scorer_versions": {"metric:steps": "1", "verifier:x": "1"}})] * 2
    with pytest.raises(UsageError) as refused:
        refuse_unusable([spec], runs)
    if spec == "stepz=0.1":
        assert "did you mean 'steps'? known: latency_s, steps, task_success" == refused.value.remedy
    refuse_unusable(["steps=0.1", "task_success=0"], runs)


COSTS = [1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 3.5, 4.5]


@pytest.fixture
def costs(card: Card, manifest: Manifest) -> Callable[..., Comparison]:
    def build(before: list[float], after: list[float]) -> Comparison:
        def cards(values: list[float]) -> list[Scorecard]:
            scores = [Score(metric="cost_usd", version="1", value=one, lower_is_better=True) for one in values]
            return [card(str(i), scores=(one,)) for i, one in enumerate(scores)]

        old, new = cards(before), cards(after)
        return compare(manifest(old), old, manifest(new, "new"), new)

    return build


@pytest.mark.parametrize(
    ("factor", "margin", "standing"),
    [
        (1.0, "10%", "parity"),
        (1.05, "10%", "parity"),
        (1.3, "10%", "worse"),
        (0.8, "0%", "better"),
        (1.1, "10%", "cannot_tell"),
        (1.05, "0.1", "cannot_tell"),  # an amount of dollars: the interval of so few cases is wide
    ],
)
def test_an_amount_has_a_margin_in_percent_of_its_value_before(
    costs: Callable[..., Comparison], factor: float, margin: str, standing: str
) -> None:
    found = check(costs(COSTS, [factor * one for one in COSTS]), f"cost_usd={margin}")

    assert standing == found.standing, found.reason


def test_the_interval_in_percent_is_students_over_cases(costs: Callable[..., Comparison]) -> None:
    found = check(costs(COSTS, [one + 0.1 * (i % 2) for i, one in enumerate(COSTS)]), "cost_usd=10%")

    mean = sum(COSTS) / 8
    half = 2.3646 * (0.05**2 * 8 / 7 / 8) ** 0.5 / mean
    assert (-0.05 / mean - half, -0.05 / mean + half) == pytest.approx((found.low, found.high))


def test_a_percentage_of_a_share_means_points(comparison: Callable[..., Comparison]) -> None:
    found = check(comparison("+" * 200, "+" * 200), "task_success=5%")

    assert (found.standing, found.margin, found.percent) == ("parity", 0.05, False)


@pytest.mark.parametrize(("before", "said"), [(COSTS[:5], "6 cases are needed"), ([0.0] * 8, "the earlier value is 0")])
def test_what_a_percentage_cannot_tell_is_said(
    costs: Callable[..., Comparison], before: list[float], said: str
) -> None:
    found = check(costs(before, before), "cost_usd=10%")

    assert "cannot_tell" == found.standing
    assert said in found.reason


def test_latency_is_not_measured_in_a_replay(comparison: Callable[..., Comparison]) -> None:
    found = check(comparison("+" * 8, "+" * 8), "latency_s=20%")

    assert "cannot_tell" == found.standing
    assert found.reason.startswith("latency needs live ")
