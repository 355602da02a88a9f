"""What was acknowledged is there, once, whatever happens to the receiver: killed, without room, asked for too much."""

import re
import time
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.production.store import SessionStore
from qa.production.senders import ReceiverProgram, kill_at_random_moments
from tests.production.receiving import Answer, Served, request, serving, span

CONVERSATION = "gen_ai.conversation.id"


@pytest.mark.slow
def test_a_receiver_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The quick form of `python -m qa.production.senders --kills 100`."""
    told = kill_at_random_moments(tmp_path / "online", 4, seed=7)
    assert (0, 0, 0, 0) == (told["lost"], told["doubled"], told["never_sent"], told["miscounted"])
    assert told["accepted"] > 0


def test_without_room_requests_are_refused_and_what_was_taken_stays(tmp_path: Path) -> None:
    program = ReceiverProgram(tmp_path / "online", largest_file=400_000)
    served = Served(tmp_path / "online", None, program.url, None)
    answers: dict[int, Answer] = {}
    for number in range(1, 8):
        size = 120_000 if number < 7 else 1_000  # the last one fits behind what was taken
        body = request(span(number, 1, attributes={CONVERSATION: f"c{number}", "big": "x" * size}))
        answers[number] = served.post("/v1/traces", body)
    program.end()

    taken = {number for number, answer in answers.items() if answer.status == 200}
    refused = {number: answer for number, answer in answers.items() if answer.status != 200}
    assert {1, 2, 7} == taken
    assert {503} == {answer.status for answer in refused.values()}
    assert all(answer.headers["Retry-After"].isdigit() and b"not" in answer.body for answer in refused.values())
    keys = {row.key for row in SessionStore.open(tmp_path / "online").sessions()}
    assert {f"default:c{number}" for number in taken} == keys


@pytest.mark.slow
def test_where_too_much_waits_for_the_disk_senders_are_asked_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path, max_waiting=0) as served:
        answer = served.post("/v1/traces", request(span(1, 1)))
        assert (429, "1") == (answer.status, answer.headers["Retry-After"])
        assert [] == served.store().sessions()


def test_a_damaged_store_is_named_and_nothing_of_it_is_changed(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    file = tmp_path / "store.db"
    damaged = file.read_bytes()[:5000] + bytes(200_000)
    file.write_bytes(damaged)
    with pytest.raises(ResultsError, match=re.escape(str(file))):
        SessionStore.open(tmp_path).sessions()
    assert damaged == file.read_bytes()


def test_clocks_that_lie_decide_nothing(served: Served) -> None:
    past, future = span(1, 1, startTimeUnixNano="0", endTimeUnixNano="0"), span(1, 2, startTimeUnixNano=str(1 << 62))
    past["attributes"] = [{"key": CONVERSATION, "value": {"stringValue": "c1"}}]
    answer = served.post("/v1/traces", request(past, future, span(1, 3, endTimeUnixNano=str(1 << 70))))

    assert "1" == answer.json["partialSuccess"]["rejectedSpans"]
    (row,) = served.store().sessions()
    assert 2 == row.records
    assert row.is_complete(row.received_last_ns + 10**9, pause_s=1)
    assert not row.is_complete(row.received_last_ns, pause_s=1)


def test_retention_drops_what_is_older_and_no_part_of_a_session_that_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for trace, session in ((1, "old"), (2, "goes on")):
            served.post("/v1/traces", request(span(trace, 1, attributes={CONVERSATION: session})))
        between = time.time()
        served.post("/v1/traces", request(span(3, 1, attributes={CONVERSATION: "goes on"})))
    store = SessionStore.open(tmp_path)
    store.maintain(retention_days=1)
    assert 2 == len(store.sessions())
    store.maintain(retention_days=(time.time() - between) / 86_400)
    assert [("default:goes on", 2)] == [(row.key, row.records) for row in store.sessions()]
    store.maintain(retention_days=1e-9)
    assert [] == store.sessions()


def test_a_store_that_is_written_by_several_processes_at_once_loses_nothing(tmp_path: Path) -> None:
    """A receiver, a retention and two deletions; each waits for the others."""
    with serving(tmp_path) as served:
        for number in range(40):
            one = span(number + 1, 1, attributes={CONVERSATION: f"c{number}", "user.id": f"u{number % 4}"})
            assert 200 == served.post("/v1/traces", request(one)).status
            if number in (10, 20):
                assert served.store().delete(user_id=f"u{number // 10}")
                served.store().maintain(retention_days=1)
    kept = {row.key for row in SessionStore.open(tmp_path).sessions()}
    assert {f"default:c{n}" for n in range(40) if not ((n % 4 == 1 and n <= 10) or (n % 4 == 2 and n <= 20))} == kept
