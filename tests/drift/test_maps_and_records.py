"""Which objects are maps: a schema or a rule says so, or several samples do; their size says nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.drift.conftest import TOOLS, Project, told

RECORD = {f"field_{number}": f"text {number}" for number in range(25)}
READ = {"one": [["get_item", {"id": 1}]]}
COUNTS = {name: len(name) for name in ("oak", "elm", "ash", "fir", "yew", "figs", "box", "bay", "haw", "sloe")}
OTHER_COUNTS = {name: len(name) for name in ("pine", "larch", "alder", "birch", "aspen", "beech")}


def recorded(project: Project, answer: Any, **more: Any) -> None:
    project.shop.answers["GET /items/1"] = answer
    project.write(READ, **more)
    project.record()


@pytest.fixture
def project(tmp_path: Path, shop: Any) -> Project:
    return Project(tmp_path / "project", shop)


def test_a_record_with_many_fields_of_one_kind_that_loses_three_has_drifted(project: Project) -> None:
    recorded(project, RECORD)
    project.shop.answers["GET /items/1"] = dict(list(RECORD.items())[3:])
    assert [("get_item", "schema.removed", f"field_{number}", "string -> absent") for number in range(3)] == told(
        project.probe(status=1)
    )


@pytest.mark.parametrize(("before", "after"), [(19, 20), (20, 19), (20, 21)])
def test_one_field_more_or_less_is_one_change_at_any_size(project: Project, before: int, after: int) -> None:
    recorded(project, dict(list(RECORD.items())[:before]))
    project.shop.answers["GET /items/1"] = dict(list(RECORD.items())[:after])
    report = project.probe(status=0 if after > before else 1)
    assert 1 == len(told(report))
    assert not told(report, "unconfirmed")
    assert ("schema.added" if after > before else "schema.removed") == told(report)[0][1]


def test_an_object_whose_keys_vary_between_samples_is_a_map(project: Project) -> None:
    for number, names in enumerate(["abcdef", "fghijk", "lmnopq", "qrstuv"]):
        project.shop.answers[f"GET /search?q={number}"] = {"stock": {name * 3: 1 for name in names}, "total": 6}
    cases = {"one": [["search", {"q": str(number)}] for number in range(4)]}
    project.write(cases)
    project.record()
    project.shop.answers["GET /search?q=0"] = {"stock": {"www": 1, "xyz": 2}, "total": 2}
    assert [] == told(project.probe())
    project.shop.answers["GET /search?q=0"] = {"stock": {"www": "1", "xyz": "2"}, "total": 2}
    assert [("search", "schema.type_changed", "stock.*", "number -> string")] == told(project.probe(status=1))


def test_records_of_several_samples_stay_records(project: Project) -> None:
    """The positive control of the test above: fields that some of the answers lack are not keys of a map."""
    names = [f"field_{number}" for number in range(12)]
    for number in range(4):
        kept = [name for name in names if name != f"field_{number}"]
        project.shop.answers[f"GET /search?q={number}"] = dict.fromkeys(kept, "text")
    project.write({"one": [["search", {"q": str(number)}] for number in range(4)]})
    project.record()
    for number in range(4):
        project.shop.answers[f"GET /search?q={number}"] = dict.fromkeys(names[:11], "text")
    assert [("search", "schema.removed", "field_11", "string -> absent")] == told(project.probe(status=1))


def _typed(output: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**TOOLS[0], "output": output}, *TOOLS[1:]]


FREE = {"type": "object", "additionalProperties": {"type": "integer"}}


def test_a_declared_schema_says_that_keys_are_data(project: Project) -> None:
    recorded(project, COUNTS, tools=_typed(FREE))
    project.shop.answers["GET /items/1"] = OTHER_COUNTS
    assert [] == told(project.probe())


@pytest.mark.parametrize(
    "values", [True, {"title": "Any"}, {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]}]
)
def test_a_schema_of_free_values_hides_no_renamed_field_and_no_other_type(project: Project, values: Any) -> None:
    record = {"type": "object", "additionalProperties": values}
    recorded(
        project, {"data": COUNTS | {"name": "x"}}, tools=_typed({"type": "object", "properties": {"data": record}})
    )
    now: dict[str, Any] = {**COUNTS, "title": "x", "oak": "3"}
    project.shop.answers["GET /items/1"] = {"data": now}
    assert [
        ("get_item", "schema.removed", "data.name", "string -> absent"),
        ("get_item", "schema.type_changed", "data.oak", "number -> string"),
        ("get_item", "schema.added", "data.title", "absent -> string"),
    ] == told(project.probe(status=1))


def test_recordings_with_the_same_keys_overrule_a_schema_that_says_the_keys_are_data(project: Project) -> None:
    for number in range(3):
        project.shop.answers[f"GET /search?q={number}"] = [{"open": number, "total": 3}]
    listed = {"type": "array", "items": FREE}
    project.write({"one": [["search", {"q": str(number)}] for number in range(3)]}, [{**TOOLS[1], "output": listed}])
    project.record()
    project.shop.answers["GET /search?q=0"] = [{"opened": 0, "total": 3}]
    assert ("search", "schema.removed", "[].open", "number -> absent") in told(project.probe(status=1))


def test_of_one_sample_whose_keys_were_all_exchanged_nothing_can_be_told(project: Project) -> None:
    recorded(project, {"stock": COUNTS})
    project.shop.answers["GET /items/1"] = {"stock": OTHER_COUNTS}
    report = project.probe()
    assert [] == told(report)
    assert {"schema.removed", "schema.added"} == {change for _, change, _, _ in told(report, "unconfirmed")}
    assert all("`compare: map`" in one["doubt"] for one in report["unconfirmed"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(COUNTS, dict.fromkeys(OTHER_COUNTS, "3"), id="values of another kind"),
        pytest.param({"id": 1}, {"ident": 1}, id="a renamed field"),
        pytest.param(
            {"first_name": "A", "last_name": "B", "home_town": "C"},
            {"firstName": "A", "lastName": "B", "homeTown": "C"},
            id="names written otherwise",
        ),
        pytest.param(
            {**dict.fromkeys("abcdef", 1), "name": "x"}, {**dict.fromkeys("ghijkl", 1), "title": "x"}, id="mixed kinds"
        ),
        pytest.param(RECORD, dict(list(RECORD.items())[:3]), id="most fields lost"),
        pytest.param(
            {name: {"count": 1} for name in COUNTS}, {name: {"amount": 1} for name in OTHER_COUNTS}, id="other members"
        ),
    ],
)
def test_of_one_sample_a_record_is_still_found(project: Project, before: Any, after: Any) -> None:
    """The positive control of the test above."""
    recorded(project, {"stock": before})
    project.shop.answers["GET /items/1"] = {"stock": after}
    assert "schema.removed" in {change for _, change, _, _ in told(project.probe(status=1))}


def test_of_two_samples_with_the_same_keys_a_record_is_found(project: Project) -> None:
    names = ("oak", "elm", "ash", "fir")
    for number in range(2):
        project.shop.answers[f"GET /search?q={number}"] = dict.fromkeys(names, number)
    project.write({"one": [["search", {"q": str(number)}] for number in range(2)]})
    project.record()
    project.shop.answers["GET /search?q=0"] = OTHER_COUNTS
    assert "schema.removed" in {change for _, change, _, _ in told(project.probe(status=1))}


def test_a_declared_schema_says_that_keys_are_names(project: Project) -> None:
    year = {f"20{number}": 1 for number in range(10, 31)}
    schema = {"type": "object", "properties": {key: {"type": "integer"} for key in year}}
    recorded(project, year, tools=_typed(schema))
    del year["2010"]
    project.shop.answers["GET /items/1"] = year
    assert [("get_item", "schema.removed", "['2010']", "number -> absent")] == told(project.probe(status=1))


def test_a_rule_says_that_keys_are_data_and_holds_for_nothing_below(project: Project) -> None:
    recorded(project, {"stock": {"oak": {"count": 1}, "elm": {"count": 2}}})
    project.write(READ, drift={"get_item": [{"at": "/stock", "compare": "map"}]})
    project.shop.answers["GET /items/1"] = {"stock": {"ash": {"count": 1}}}
    assert [] == told(project.probe())
    project.shop.answers["GET /items/1"] = {"stock": {"ash": {}}}
    assert [("get_item", "schema.removed", "stock.*.count", "number -> absent")] == told(project.probe(status=1))


def test_an_openapi_document_says_which_objects_are_maps(project: Project) -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/items/{id}": {
                "get": {
                    "operationId": "get_item",
                    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                    "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/x/C"}}}}},
                }
            }
        },
        "components": {"x": {"C": {"type": "object", "properties": {"stock": FREE}}}},
    }
    project.suite.mkdir(parents=True)
    (project.suite / "api.json").write_text(json.dumps(document))
    recorded(project, {"stock": COUNTS}, tools=[{"openapi": "api.json", "server": "shop"}])
    project.shop.answers["GET /items/1"] = {"stock": OTHER_COUNTS}
    assert [] == told(project.probe())
