"""Annotation in the app: blind, by the people's own queues, several at once, and nothing lost."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.judging.labels import PairLabel, label_path, pair_label_path, read_whole, sort_labels
from harness.judging.rubrics import load_rubric
from harness.reports.pages.server import ViewServer
from harness.runs.store.folder import RunFolder
from tests.judging.verbs.stored import shop_card, shop_manifest, shop_trial, store
from tests.reports.app.client import entered
from tests.reports.html.runs import HOSTILE

QUEUE = "/annotate/night/prices"
TRIAL = f"{QUEUE}/case-00/1"
FIRST = f"{TRIAL}/grounded"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    store(tmp_path, cases=6)
    folder = tmp_path / "suites" / "shop" / "rubrics"
    folder.mkdir(parents=True)
    shutil.move(tmp_path / "prices.yaml", folder / "prices.yaml")
    return tmp_path


@pytest.fixture
def server(shop: Path) -> Iterator[ViewServer]:
    with ViewServer(shop, app_pages()) as own:
        yield own


@pytest.fixture
def client(server: ViewServer) -> Iterator[httpx.Client]:
    with entered(server) as own:
        yield own


def _labels(project: Path) -> list[dict[str, str]]:
    path = label_path(project, "shop", "prices")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_run_and_a_rubric_lead_to_the_questions(client: httpx.Client) -> None:
    assert "/annotate?run=night" in client.get("/annotate").text
    rubrics = re.findall(r'href="/annotate\?run=night&amp;rubric=(\w+)"', client.get("/annotate?run=night").text)
    assert "prices" in rubrics
    assert not {"entailment", "user_simulator", "turing"} & set(rubrics), "nobody simulates a user here"
    assert 'action="/annotate/night/prices"' in client.get("/annotate?run=night&rubric=prices").text
    text = client.get(f"{QUEUE}?as=ann").text
    assert "0 of 12 answered" in text
    assert f"{TRIAL}?as=ann" in text


def test_an_answer_is_written_and_leads_to_the_next_open_question(client: httpx.Client, shop: Path) -> None:
    answer = client.post(f"{FIRST}?as=ann", data={"answer": "fail", "note": "no such #price"})
    assert (200, TRIAL, "criterion-refunded") == (answer.status_code, answer.url.path, answer.url.fragment)
    assert "1 of 12 answered" in answer.text
    assert [("ann", "fail", "no such #price")] == [
        (one["annotator"], one["answer"], one["note"]) for one in _labels(shop)
    ]
    again = client.get(f"{TRIAL}?as=ann").text
    assert re.search(r'value="fail"[^>]*aria-pressed="true"', again)
    assert "no such #price" in again
    assert f"{QUEUE}/case-01/1" == client.post(f"{TRIAL}/refunded?as=ann", data={"answer": "pass"}).url.path
    tagged = client.get(f"{QUEUE}?as=ann&tag=price").text
    assert ["grounded"] == re.findall(r'#criterion-[^"]*">([^<]*)<', tagged)


def test_the_step_that_decided_a_failure_is_a_label_of_its_own(client: httpx.Client, shop: Path) -> None:
    trial = "/annotate/night/failure_modes/case-00/1"
    assert {"1", "2"} == set(re.findall(r'<option value="(\d+)"', client.get(f"{trial}?as=ann").text))
    page = f"{trial}/decisive_step?as=ann"
    for without in ({}, {"step": "0"}):  # the user's message
        assert 409 == client.post(page, data={"answer": "fail", **without}).status_code
    client.post(page, data={"answer": "fail", "step": "2"})
    client.post(page, data={"answer": "fail", "step": "1"})
    client.post(page, data={"answer": "pass", "step": "1"})
    path = label_path(shop, "shop", "failure_modes")
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [("fail", 2), ("fail", 1), ("pass", None)] == [(one["answer"], one.get("step")) for one in written]


def test_a_changed_answer_revises(client: httpx.Client, shop: Path) -> None:
    client.post(f"{FIRST}?as=ann", data={"answer": "fail"})
    client.post(f"{FIRST}?as=ann", data={"answer": "pass"})
    assert [None, True] == [one.get("revises") for one in _labels(shop)]


def test_the_answers_of_others_are_shown_to_an_adjudicator_alone_and_without_names(client: httpx.Client) -> None:
    client.post(f"{FIRST}?as=ann", data={"answer": "fail", "note": "a secret reason"})
    blind = client.get(f"{TRIAL}?as=ben").text
    assert "a secret reason" not in blind
    client.post(f"{FIRST}?as=ben", data={"answer": "pass"})
    eve = client.get(f"{TRIAL}?as=eve").text
    assert ("criterion-grounded" in eve, "criterion-refunded" in eve) == (False, True), "two have answered"
    judge = client.get(f"{TRIAL}?as=cem&role=adjudicator").text
    assert "a secret reason" in judge
    assert not re.search(r"\bann\b|\bben\b", judge)
    done = client.post(f"{FIRST}?as=cem&role=adjudicator", data={"answer": "fail"})
    assert "1 of 1 answered" in done.text


def test_who_answered_cannot_adjudicate(client: httpx.Client) -> None:
    client.post(f"{FIRST}?as=ann", data={"answer": "fail"})
    client.post(f"{FIRST}?as=ben", data={"answer": "pass"})
    assert 404 == client.get(f"{QUEUE}?as=ann&role=adjudicator").status_code


def test_two_people_and_one_of_them_twice_lose_nothing(server: ViewServer, shop: Path) -> None:
    """Three browsers answer everything at once; one of the people has two of them."""
    problems: list[str] = []

    def answer_all(own: httpx.Client, name: str, given: str) -> None:
        for number in range(6):
            for criterion in ("grounded", "refunded"):
                path = f"{QUEUE}/case-{number:02}/1/{criterion}?as={name}&per=9"
                answer = own.post(path, data={"answer": given})
                problems.extend([answer.text] if answer.status_code != 200 else [])

    people = [("ann", "pass"), ("ann", "fail"), ("ben", "pass")]
    with ExitStack() as stack:
        clients = [stack.enter_context(entered(server)) for _ in people]
        threads = [
            threading.Thread(target=answer_all, args=(own, *person))
            for own, person in zip(clients, people, strict=True)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert [] == problems
    rubric = load_rubric("prices", shop / "suites" / "shop")
    found = sort_labels(label_path(shop, "shop", "prices"), rubric)
    assert () == found.left_out
    assert [2] * 12 == [len(one.labels) for one in found.items]


def test_two_trials_are_compared_without_their_names_in_an_order_that_is_stored(shop: Path) -> None:
    ids = [f"case-{number:02}" for number in range(4)]
    with RunFolder.create(shop / "runs", shop_manifest("later", ids)) as folder:
        folder.keep_suite(RunFolder.open(shop / "runs" / "night").suite)
        for number, case in enumerate(ids):  # 0 is right now, 1 wrong, 2 and 3 are as before
            folder.commit(shop_trial(case, {0: 1, 1: 0}.get(number, number)), (), shop_card(case, number))
    with ViewServer(shop, app_pages()) as server, entered(server) as client:
        assert 'action="/blind/night/prices"' in client.get("/annotate?run=night&rubric=prices").text
        page = client.get("/blind/night/prices?with=later&criterion=grounded&as=ann").text
        main = re.sub(r"<[^>]*>", " ", page.partition("<main")[2])
        assert not re.search(r"\b(night|later|shop)\b", main), "neither run nor agent is named"
        for _ in range(2):
            case = re.search(r"/blind/night/prices/(case-\d+)/1", page)
            evidence = page.partition('id="a"')[2].partition('id="b"')
            right = "B" if "9.99" in evidence[0] else "A"
            page = client.post(
                f"/blind/night/prices/{case and case[1]}/1?with=later&criterion=grounded&as=ann", data={"better": right}
            ).text
        assert "There is nothing left to compare." in page, "two pairs look the same"
        refused = client.post(
            "/blind/night/prices/case-02/1?with=later&criterion=grounded&as=ann", data={"better": "A"}
        )
        assert 409 == refused.status_code
        compared = client.get("/compare?before=night&after=later").text
    written = read_whole(pair_label_path(shop, "shop", "prices"), PairLabel)
    assert [("case-00", "later"), ("case-01", "night")] == [(one.case_id, one.winner) for one in written]
    assert all({*one.runs} == {"night", "later"} for one in written)
    row = re.search(r'<tr><th scope="row">grounded</th>(.*?)</tr>', compared)
    assert ["1", "1", "0", "0", "1"] == re.findall(r"<td[^>]*>([^<]*)<", row[1] if row else "")


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        (f"{FIRST}?as=ann", {"answer": "maybe"}, 409),
        (f"{FIRST}?as=ann", {}, 409),
        (f"{FIRST}?as=ann", {"answer": "not_eligible"}, 409),
        (f"{FIRST}?as=ann", {"answer": "pass", "note": "x" * 3000}, 409),
        (f"{FIRST}?as=../ann", {"answer": "pass"}, 409),
        (FIRST, {"answer": "pass"}, 409),
        (f"{QUEUE}/case-77/1/grounded?as=ann", {"answer": "pass"}, 409),
        ("/annotate/night/..%2f..%2fprices.yaml/case-00/1/grounded?as=ann", {"answer": "pass"}, 409),
        ("/annotate/night/prices/case-00/x/grounded?as=ann", {"answer": "pass"}, 409),
    ],
)
def test_what_cannot_be_an_answer_is_refused_and_writes_nothing(
    client: httpx.Client, shop: Path, path: str, data: dict[str, str], status: int
) -> None:
    assert status == client.post(path, data=data).status_code
    assert [] == _labels(shop)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_another_page_labels_nothing(client: httpx.Client, shop: Path, origin: str) -> None:
    answer = client.post(f"{FIRST}?as=ann", data={"answer": "pass"}, headers={"Origin": origin})
    assert (403, []) == (answer.status_code, _labels(shop))


def test_labels_that_cannot_be_written_are_reported(client: httpx.Client, shop: Path) -> None:
    label_path(shop, "shop", "prices").mkdir(parents=True)
    answer = client.post(f"{FIRST}?as=ann", data={"answer": "pass"})
    assert (409, True) == (answer.status_code, "cannot be" in answer.text)


def test_a_run_in_flight_brings_more_questions_and_a_damaged_trial_is_named(shop: Path) -> None:
    ids = ["case-00", "case-01"]
    with RunFolder.create(shop / "runs", shop_manifest("now", ids)) as folder:
        folder.keep_suite(RunFolder.open(shop / "runs" / "night").suite)
        folder.commit(shop_trial(ids[0], 0), (), shop_card(ids[0], 0))
        with ViewServer(shop, app_pages()) as server, entered(server) as client:
            assert "0 of 2 answered" in client.get("/annotate/now/prices?as=ann").text
            folder.commit(shop_trial(ids[1], 1), (), shop_card(ids[1], 1))
            assert "0 of 4 answered" in client.get("/annotate/now/prices?as=ann").text
        (folder.path / "trials" / ids[1] / "1" / "trial.json").write_text("{}")
        with ViewServer(shop, app_pages()) as server, entered(server) as client:
            text = client.get("/annotate/now/prices?as=ann").text
    assert "0 of 2 answered" in text
    assert "its checksum" in text


def test_what_an_agent_wrote_stays_text(shop: Path) -> None:
    ids = ["case-00"]
    with RunFolder.create(shop / "runs", shop_manifest("bad", ids)) as folder:
        folder.keep_suite(RunFolder.open(shop / "runs" / "night").suite)
        own = shop_trial(ids[0], 0)
        steps = tuple(one.model_copy(update={"message": HOSTILE}) for one in own.trajectory.steps)
        folder.commit(
            own.model_copy(update={"trajectory": own.trajectory.model_copy(update={"steps": steps})}),
            (),
            shop_card(ids[0], 0),
        )
    with ViewServer(shop, app_pages()) as server, entered(server) as client:
        text = client.get("/annotate/bad/prices/case-00/1?as=ann").text
    assert "&lt;img src=x" in text
    assert "<img src=x" not in text
    assert not set("\x00\x1b\x7f\u202e") & set(text)
