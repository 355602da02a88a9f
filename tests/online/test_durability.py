"""What was acknowledged is there, once, whatever happens to the receiver: killed, without room, asked for too much."""

import json
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.production.record import line_of, stored
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.traces.otlp import RawRecord
from tests.online.receiving import Answer, Served, request, serving, span
from tests.online.senders import ReceiverProgram, kill_at_random_moments

CONVERSATION = "gen_ai.conversation.id"


@pytest.mark.slow
def test_a_killed_receiver_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The quick form of `python -m tests.online.senders --kills 100`."""
    told = kill_at_random_moments(tmp_path / "online", 1, senders=1)
    assert (0, 0, 0, 0) == (told["lost"], told["doubled"], told["never_sent"], told["miscounted"])
    assert told["accepted"] > 0


@pytest.mark.slow
def test_a_receiver_that_is_killed_again_and_again(tmp_path: Path) -> None:
    told = kill_at_random_moments(tmp_path / "online", 8, seed=7)
    assert (0, 0, 0, 0) == (told["lost"], told["doubled"], told["never_sent"], told["miscounted"])


def test_without_room_requests_are_refused_and_what_was_taken_stays(tmp_path: Path) -> None:
    program = ReceiverProgram(tmp_path / "online", largest_file=60_000)
    served = Served(tmp_path / "online", None, program.url, None)
    answers: dict[int, Answer] = {}
    for number in range(1, 8):
        size = 25_000 if number < 7 else 1_000  # the last one fits behind what was taken
        body = request(span(number, 1, attributes={CONVERSATION: f"c{number}", "big": "x" * size}))
        answers[number] = served.post("/v1/traces", body)
    program.end()

    taken = {number for number, answer in answers.items() if answer.status == 200}
    refused = {number: answer for number, answer in answers.items() if answer.status != 200}
    assert {1, 2, 7} == taken
    assert {503} == {answer.status for answer in refused.values()}
    assert all(answer.headers["Retry-After"].isdigit() and b"not" in answer.body for answer in refused.values())
    assert 1 == len(list((tmp_path / "online" / "journal").iterdir()))  # refused requests leave no files
    keys = {row.key for row in SessionStore.open(tmp_path / "online").sessions()}
    assert {f"default:c{number}" for number in taken} == keys


@pytest.mark.slow
def test_where_too_much_waits_for_the_disk_senders_are_asked_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path, max_waiting=0) as served:
        answer = served.post("/v1/traces", request(span(1, 1)))
        assert (429, "1") == (answer.status, answer.headers["Retry-After"])
        assert [] == served.store().sessions()


def test_a_torn_line_is_no_record_and_the_receiver_goes_on_behind_it(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    (segment,) = (tmp_path / "journal").glob("*.jsonl")
    whole = segment.read_bytes()
    segment.write_bytes(whole + whole[: len(whole) // 2])
    assert [1] == [row.records for row in SessionStore.open(tmp_path).sessions()]

    with serving(tmp_path) as served:
        served.post("/v1/traces", request(span(2, 1, attributes={CONVERSATION: "c2"})))
        served.compact()
        assert ["default:c1", "default:c2"] == sorted(row.key for row in served.store().sessions())


def test_a_damaged_segment_is_kept_and_told_and_the_others_stay_readable(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    (segment,) = (tmp_path / "journal").glob("*.jsonl")
    segment.write_bytes(b"{not json}\n" + segment.read_bytes())

    store = SessionStore.open(tmp_path)
    with pytest.raises(ResultsError, match=r"\b1 of 2\b"):
        store.compact()
    assert segment.exists()
    assert ["default:c1"] == [row.key for row in store.sessions()]


def test_clocks_that_lie_decide_nothing(served: Served) -> None:
    past, future = span(1, 1, startTimeUnixNano="0", endTimeUnixNano="0"), span(1, 2, startTimeUnixNano=str(1 << 62))
    past["attributes"] = [{"key": CONVERSATION, "value": {"stringValue": "c1"}}]
    answer = served.post("/v1/traces", request(past, future, span(1, 3, endTimeUnixNano=str(1 << 70))))

    assert "1" == answer.json["partialSuccess"]["rejectedSpans"]
    (row,) = served.store().sessions()
    assert 2 == row.records
    assert row.is_complete(row.received_last_ns + 10**9, pause_s=1)
    assert not row.is_complete(row.received_last_ns, pause_s=1)


def test_many_small_parts_become_one_and_old_ones_go(served: Served) -> None:
    for number in range(1, 11):
        served.post("/v1/traces", request(span(number, 1, attributes={CONVERSATION: f"c{number}"})))
        served.compact()
    served.compact()
    assert len(list((served.folder / "parts").glob("*.parquet"))) < 5
    assert 10 == len(served.store().sessions())
    status = json.dumps(served.receiver.status)
    assert "compaction failed" not in status


@pytest.mark.slow
def test_long_records_are_listed_and_compacted_within_the_engines_memory(tmp_path: Path) -> None:
    """As many as real conversations of a day have, where each model call repeats the whole history."""
    layout = StoreLayout(tmp_path)
    layout.create()
    filler = "an order of the shop, with its lines and prices; " * 500
    with (layout.journal / "000000000001.jsonl").open("wb") as stream:
        for number in range(1, 2_601):
            one = RawRecord(kind="span", trace_id=f"{number:032x}", span_id=f"{number:016x}", name="chat", start_ns=1,
                          end_ns=2, attributes={CONVERSATION: f"c{number}", "text": filler})  # fmt: skip
            stream.write(line_of(stored(one, source="default", trusted=False, received_ns=number)))
    store = SessionStore.open(tmp_path)
    assert 2_600 == len(store.sessions())
    store.compact()
    assert [] == list(layout.journal.iterdir())
    assert 2 == len([*layout.parts.iterdir()])
    assert 2_600 == len(store.sessions())
    (kept,) = store.session("c2600").spans
    assert filler == kept.attributes["text"]


def test_retention_drops_what_is_older(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post("/v1/traces", request(span(1, 1, attributes={CONVERSATION: "c1"})))
    store = SessionStore.open(tmp_path)
    store.compact(retention_days=1)
    assert 1 == len(store.sessions())
    store.compact(retention_days=1e-9)
    assert [] == store.sessions()
