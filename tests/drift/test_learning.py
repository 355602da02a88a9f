"""`harness drift learn`: what changes by itself is not drift, and what never did counts when it does."""

import itertools

from tests.drift.conftest import ITEM, Project, learn, probe_on, told


def test_a_value_that_was_steady_on_two_days_drifts_and_one_that_moves_does_not(project_of_shop: Project) -> None:
    counter = itertools.count(1)
    project_of_shop.shop.answers["GET /items/1"] = lambda: {**ITEM, "stock": {"here": next(counter), "there": None}}
    learn(project_of_shop, 1)
    project_of_shop.shop.answers["GET /items/2"] = {**ITEM, "id": 2, "name": "Donut", "price": 3.0}
    assert [] == told(probe_on(project_of_shop, 1))
    project_of_shop.shop.answers["GET /items/2"] = {**ITEM, "id": 2, "name": "Donut"}
    learn(project_of_shop, 2)
    assert [] == told(probe_on(project_of_shop, 3))
    project_of_shop.shop.answers["GET /items/2"] = {**ITEM, "id": 2, "name": "Donut", "tags": ["warm"]}
    report = probe_on(project_of_shop, 3)
    assert [("get_item", "value.changed", "tags", "array -> array")] == told(report)
    assert [] == report["unconfirmed"]


def test_a_person_may_accept_what_is_known_without_waiting(project_of_shop: Project) -> None:
    said = project_of_shop.type("drift", "learn", "s", "--accept")
    assert "get_item: 6 samples on 1 day, settled" in said
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "name": "Croissant"}
    assert [("get_item", "value.changed", "name", "string -> string")] == told(project_of_shop.probe())


def test_a_member_that_comes_and_goes_is_learned_on_two_days_and_never_by_a_probe(project_of_shop: Project) -> None:
    def come_and_go() -> None:
        turns = itertools.cycle([ITEM, {key: value for key, value in ITEM.items() if key != "tags"}])
        project_of_shop.shop.answers["GET /items/1"] = lambda: next(turns)

    come_and_go()
    project_of_shop.shop.answers["GET /items/2"] = {**ITEM, "id": 2, "name": "Donut"}
    gone = {**ITEM, "id": 2, "name": "Donut"}
    del gone["tags"]
    for day in (1, 2):
        assert [] == told(probe_on(project_of_shop, day))
    come_and_go()  # begins with the member: this probe sees item 1 unchanged
    project_of_shop.shop.answers["GET /items/2"] = gone
    assert [("get_item", "schema.removed", "tags", "array -> absent")] == told(probe_on(project_of_shop, 2))
    project_of_shop.shop.answers["GET /items/2"] = {**ITEM, "id": 2, "name": "Donut"}
    for day in (1, 2):
        learn(project_of_shop, day)
    project_of_shop.shop.answers["GET /items/2"] = gone
    report = probe_on(project_of_shop, 3)
    assert {"schema.optional_removed"} >= {change for _, change, _, _ in told(report) + told(report, "unconfirmed")}


def test_a_change_that_stays_is_told_every_night_and_never_learned(project_of_shop: Project) -> None:
    learn(project_of_shop, 1, accept=True)
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "name": "Croissant"}
    for day in range(2, 6):
        assert [("get_item", "value.changed", "name", "string -> string")] == told(probe_on(project_of_shop, day))


def test_a_release_that_is_taken_back_and_comes_again_is_no_noise(project_of_shop: Project) -> None:
    learn(project_of_shop, 1, accept=True)
    drifted = [("get_item", "value.changed", "name", "string -> string")]
    for day, name, expected in ((2, "Croissant", drifted), (3, "Biscuit", []), (4, "Croissant", drifted)):
        project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "name": name}
        assert expected == told(probe_on(project_of_shop, day))


def test_a_value_that_is_new_every_day_is_told_apart_by_probes_alone(project_of_shop: Project) -> None:
    for day in range(1, 6):
        project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "price": 2.5 + day}
        assert [] == told(probe_on(project_of_shop, day))


def test_a_service_that_is_down_teaches_nothing(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /items/1"] = (503, {})
    assert "nothing was learned" in project_of_shop.type("drift", "learn", "s", status=3)
    assert not (project_of_shop.folder / "cassettes" / "s" / "profiles").exists()
