"""`harness cassette refresh`: the recordings taken up to date with what a look has confirmed."""

from tests.drift.conftest import ITEM, Project, told


def _drifted(project: Project) -> str:
    project.shop.answers["GET /items/1"] = {**ITEM, "price": "2.50"}
    project.shop.answers["GET /search?q=b"] = {"found": []}
    project.probe(status=1)
    return sorted(path.name for path in (project.folder / "runs").iterdir())[-1]


def test_what_was_confirmed_is_taken_over_and_nothing_is_left_drifted(project_of_shop: Project) -> None:
    run, before, other = _drifted(project_of_shop), project_of_shop.cassette("one"), project_of_shop.cassette("two")
    project_of_shop.type("cassette", "refresh", "s", "--from", run)
    assert before != project_of_shop.cassette("one")
    assert other == project_of_shop.cassette("two")
    project_of_shop.type("cassette", "check", "s")
    assert [] == told(project_of_shop.probe())


def test_only_the_tool_that_is_named_is_refreshed(project_of_shop: Project) -> None:
    run = _drifted(project_of_shop)
    project_of_shop.type("cassette", "refresh", "s", "--from", run, "--tool", "get_item")
    assert ["search"] == sorted({tool for tool, *_ in told(project_of_shop.probe(status=1))})


def test_without_drift_there_is_nothing_to_refresh(project_of_shop: Project) -> None:
    project_of_shop.probe()
    assert "" == project_of_shop.type("cassette", "refresh", "s", "--from", "probe0").partition("no recording")[0]


def test_a_secret_stays_out_of_a_refreshed_cassette(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "password": "hunter2-hunter2", "price": "2.50"}
    project_of_shop.probe(status=1)
    project_of_shop.type("cassette", "refresh", "s", "--from", "probe0")
    assert "hunter2" not in project_of_shop.cassette("one")
    assert "<secret:password:" in project_of_shop.cassette("one")
