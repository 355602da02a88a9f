"""`harness drift probe`: the recorded reads, sent again to a service that has changed, or has not."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from harness.drift.check import DriftPlan, probe_suite
from harness.suite.loading import load_suite
from tests.drift.conftest import CASES, ITEM, TOOLS, Project, told


def test_a_service_that_stayed_is_clean_and_is_never_written_to(project_of_shop: Project) -> None:
    report = project_of_shop.probe()
    assert [] == told(report)
    assert [] == told(report, "unconfirmed")
    assert ["GET /items/1", "GET /items/2", "GET /search?q=b"] == sorted(project_of_shop.shop.asked)
    assert "get_item stock.here" in report["exercised"]["get_item"]


def test_a_real_service_is_asked_no_faster_than_the_rate(project_of_shop: Project) -> None:
    answers, arrived = project_of_shop.shop.answers, list[float]()

    def noted(answer: Any) -> Callable[[], Any]:
        def given() -> Any:
            arrived.append(time.monotonic())
            return answer

        return given

    answers.update({asked: noted(answer) for asked, answer in answers.items()})
    folder = project_of_shop.folder
    probe_suite(DriftPlan(project=folder, suite=load_suite(folder, "s"), per_s=2, learn=False, name="slow"))
    assert 3 == len(arrived)
    assert arrived[2] - arrived[0] > 0.9


def test_a_read_after_a_write_is_another_question_and_is_said_to_be_left_out(project_of_shop: Project) -> None:
    project_of_shop.write({"two": [["get_item", {"id": 2}], ["order", {"id": 1}], ["get_item", {"id": 2}]]})
    project_of_shop.record()
    said = project_of_shop.type("drift", "probe", "s", "--case", "two", "--no-learn", status=3)
    assert "(1): " in said
    assert "not probed: 1 of 2" in said
    assert "none confirmed" not in said
    assert ["GET /items/2"] == project_of_shop.shop.asked
    assert not (project_of_shop.folder / "cassettes" / "s" / "profiles").exists()


def test_what_clients_lose_is_breaking_and_asked_three_times(project_of_shop: Project) -> None:
    shop = project_of_shop.shop
    for number in (1, 2):
        item = {**ITEM, "id": number, "price": "2.50", "stock": {"here": None, "there": None}, "new": True}
        shop.answers[f"GET /items/{number}"] = {key: value for key, value in item.items() if key != "tags"}
    report = project_of_shop.probe(status=1)
    assert [
        ("get_item", "schema.type_changed", "price", "number -> string"),
        ("get_item", "schema.became_nullable", "stock.here", "number -> null"),
        ("get_item", "schema.removed", "tags", "array -> absent"),
        ("get_item", "schema.added", "new", "absent -> boolean"),
    ] == told(report)
    assert 3 == shop.asked.count("GET /items/1")
    first = report["findings"][0]
    assert ["one", "two"] == first["cases"]
    assert 6 == first["samples"]
    assert 2.5 == first["before"]["price"]
    assert "2.50" == first["after"]["price"]


def test_an_error_instead_of_an_answer_is_one_finding(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /search?q=b"] = (410, {"error": "gone"})
    report = project_of_shop.probe(status=1)
    assert [("search", "status.success_to_error", "", "status 200 -> status 410")] == told(report)


def test_the_issue_of_a_job_links_to_the_pages_of_its_run(
    project_of_shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_JOB_URL", "https://lab.example/j/1")
    project_of_shop.shop.answers["GET /items/1"] = (404, "gone")
    project_of_shop.probe(status=1)
    monkeypatch.delenv("CI_JOB_URL")
    (run,) = (project_of_shop.folder / "runs").glob("probe*")
    said = project_of_shop.type("issue", "file", run.name, "--tracker", "folder", "--dry-run")
    assert "(https://lab.example/j/1/artifacts/browse)" in said


def test_a_value_alone_is_not_sure_until_the_operation_is_known(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "price": 2.75}
    report = project_of_shop.probe()
    assert [] == told(report)
    assert [("get_item", "value.changed", "price", "number -> number")] == told(report, "unconfirmed")
    assert "harness drift learn" in report["unconfirmed"][0]["doubt"]


def test_a_rule_makes_a_value_count_at_once(project_of_shop: Project) -> None:
    cases = {"one": [["get_item", {"id": 1}]]}
    project_of_shop.write(cases, drift={"get_*": [{"at": "/price", "compare": "approx", "tolerance": 0.5}]})
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "price": 2.75}
    assert [] == told(project_of_shop.probe(), "unconfirmed")
    project_of_shop.shop.answers["GET /items/1"] = {**ITEM, "price": 3.75}
    assert [("get_item", "value.changed", "price", "number -> number")] == told(project_of_shop.probe())


def test_a_change_that_is_gone_when_asked_again_is_not_confirmed(project_of_shop: Project) -> None:
    answers = iter([{"id": 1}])
    project_of_shop.shop.answers["GET /items/1"] = lambda: next(answers, ITEM)
    report = project_of_shop.probe()
    assert [] == told(report)
    assert {"schema.removed"} == {change for _, change, _, _ in told(report, "unconfirmed")}
    assert "1 of 3 answers" in report["unconfirmed"][0]["doubt"]


def test_a_service_that_fails_is_unavailable_and_no_drift(project_of_shop: Project) -> None:
    project_of_shop.shop.answers["GET /search?q=b"] = (503, {"error": "overload"})
    report = project_of_shop.probe(status=3)
    assert [] == told(report)
    assert ["search: never answered: answered 503"] == report["unavailable"]
    assert "search" not in report["exercised"]
    assert 1 == project_of_shop.shop.asked.count("GET /search?q=b")


def test_a_host_is_asked_as_the_agent_asked_it(project_of_shop: Project) -> None:
    """Method, route without its id, query and body of a request to a declared host."""
    # The recordings of hosts are made by the walks of hosts; here one is put on a cassette as they write it.
    from harness.cassettes.cassette import Cassette, save_cassette
    from harness.cassettes.keys import initial_state
    from harness.cassettes.recordings import Mark, Recording
    from harness.cassettes.redaction import Redactor
    from harness.gateway.upstream.host_calls import Incoming, absolute_address, web_call
    from harness.suite.hosts import HostSpec

    shop, folder = project_of_shop.shop, project_of_shop.folder
    host = {"host": "api.example", "base_url": shop.url}
    shop.answers["GET /v1/users/42?full=1&tag=a&tag=b"] = {"id": 42, "mail": "x"}
    address = absolute_address("https://api.example/v1/users/42?full=1&tag=a&tag=b")
    incoming = Incoming(method="GET", headers={"accept": "application/json"}, body=b"")
    call = web_call(HostSpec.model_validate(host), address, incoming, Redactor({}))
    mark = Mark(
        server="http:api.example",
        tool="http:api.example",
        effect="read",
        key=call.key.key,
        state=initial_state("http:api.example"),
        writes=0,
        occurrence=0,
        kind="http",
    )
    recording = Recording(mark=mark, arguments=call.key.arguments, status=200, body=b'{"id": 42, "name": "x"}')
    save_cassette(folder / "cassettes" / "s" / "one.yaml", Cassette([recording]), suite="s", case="one")
    project_of_shop.write({"one": []}, hosts=[host])
    report = project_of_shop.probe(status=1)
    assert ("http:api.example", "schema.removed", "name", "string -> absent") in told(report)
    assert "GET /v1/users/{}" == report["findings"][0]["operation"]


def test_a_pointer_that_matches_nothing_is_told_wherever_the_suite_has_it(project_of_shop: Project) -> None:
    tools = [
        {
            **TOOLS[0],
            "volatile": ["/price", "/stock/*", "/prize"],
            "generated_ids": ["/uuid"],
            "ignore": ["trace", "id"],
        },
        *TOOLS[1:],
    ]
    rules = {"get_*": [{"at": "/tags/*", "compare": "ignore"}, {"at": "/label", "compare": "ignore"}]}
    project_of_shop.write(CASES, tools, drift=rules)
    for words in (("cassette", "check", "s"), ("tool", "list", "s")):
        said = project_of_shop.type(*words)
        told_of = [line for line in said.splitlines() if "matches no" in line]
        assert 4 == len(told_of), said
        assert all(any(part in line for line in told_of) for part in ("/prize", "/uuid", "trace", "/label"))
