"""What a probe says on its first day: values that changed, releases that roll out, failures, and nothing."""

import itertools
import shutil

import pytest

from tests.drift.conftest import CASES, ITEM, Project, told

NEW = {**{name: value for name, value in ITEM.items() if name != "tags"}, "price": "2.50"}


def record_anew(project: Project) -> None:
    shutil.rmtree(project.folder / "cassettes")
    project.record()


def test_a_changed_value_is_shown_as_information(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "price": 2.75}
    said = project_of_shop.type("drift", "probe", "s", "--no-learn")
    assert "drift of s: none confirmed; 1 value changed (information)\n" in said
    shown = [line.split()[:3] for line in said.splitlines()]
    assert ["before", '{"price":', "2.5,"] in shown
    assert ["after", '{"price":', "2.75,"] in shown


def test_a_release_that_answers_part_of_the_calls_is_not_sure(project_of_shop: Project) -> None:
    turns = itertools.cycle([NEW, ITEM])
    project_of_shop.shop.answers["GET /items/1"] = lambda: next(turns)
    report = project_of_shop.probe()
    assert [] == told(report)
    assert ["schema.type_changed", "schema.removed"] == [change for _, change, _, _ in told(report, "unconfirmed")]
    assert "2 of 3 " in report["unconfirmed"][0]["doubt"]


@pytest.fixture
def failing(project_of_shop: Project) -> Project:
    """Recorded while one read was answered with 404 and one with 500."""
    shop = project_of_shop.shop
    shop.answers |= {"GET /items/3": (404, {"error": "none", "id": 3}), "GET /items/4": (500, {"error": "bug 17"})}
    project_of_shop.write({"one": [["get_item", {"id": 3}], ["get_item", {"id": 4}]]})
    record_anew(project_of_shop)
    return project_of_shop


def test_recorded_errors_are_asked_again_and_stay_clean_where_they_stay(failing: Project) -> None:
    report = failing.probe()
    assert [] == told(report) + told(report, "unconfirmed")
    assert 2 == report["compared"]
    assert [] == report["unavailable"]


def test_an_error_with_another_body_or_status_has_drifted(failing: Project) -> None:
    shop = failing.shop
    shop.answers |= {"GET /items/3": (404, {"error": "none"}), "GET /items/4": (200, dict(ITEM))}
    assert [
        ("get_item", "schema.removed", "id", "number -> absent"),
        ("get_item", "status.code_changed", "", "status 500 -> status 200"),
    ] == sorted(told(failing.probe(status=1)))
    shop.answers["GET /items/4"] = (500, {"message": "bug 17"})
    assert ("get_item", "schema.removed", "error", "string -> absent") in told(failing.probe(status=1))


def test_a_probe_that_compared_nothing_does_not_say_none(project_of_shop: Project) -> None:
    project_of_shop.write({"one": CASES["one"]}, tools=[])
    said = project_of_shop.type("drift", "probe", "s", "--no-learn", status=3)
    assert "drift of s: not known, since no recorded call could be compared; not probed: 2 of 2\n" in said
    assert "none" not in said.splitlines()[0]
