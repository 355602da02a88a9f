"""A client that joins the texts of several events, or of one answer, gets no secret together."""

import base64
import json
import sys
from collections.abc import Callable, Iterable

import pytest

from harness.cassettes.redacted_streams import WINDOW_S, stream_of
from harness.cassettes.redaction import Redactor
from tests.cassettes.streaming import cut, paced, passed

KEY = "sk-live/aB3xY9+qLm=0815"
REDACTOR = Redactor({"KEY": KEY, "OTHER": "sk-live/other-key"})


def sse(data: Iterable[object]) -> bytes:
    return b"".join(b"event: d\ndata: " + json.dumps(one).encode() + b"\n\n" for one in data)


def lines(data: Iterable[object]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in data)


def array(data: Iterable[object]) -> bytes:
    return b"[" + b",\r\n".join(json.dumps(one).encode() for one in data) + b"]"


FRAMED: dict[str, Callable[[Iterable[object]], bytes]] = {
    "text/event-stream": sse,
    "application/x-ndjson": lines,
    "": array,
}


def events_of(content_type: str, body: bytes) -> list[dict[str, dict[str, str]]]:
    if not content_type:
        found: list[dict[str, dict[str, str]]] = json.loads(body)
        return found
    return [json.loads(line.removeprefix(b"data: ")) for line in body.splitlines() if line[:5] not in {b"", b"event"}]


def streamed(content_type: str, body: bytes, size: int) -> bytes:
    return passed(stream_of({"content-type": content_type}, REDACTOR, is_array=not content_type), cut(body, size))


@pytest.mark.parametrize("content_type", FRAMED)
@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("step", [1, 2, 3, 9, 20])
@pytest.mark.parametrize("spelled", [KEY, base64.b64encode(f"a: {KEY}".encode()).decode(), KEY.encode().hex()])
def test_a_key_in_pieces_does_not_come_out_in_one(content_type: str, size: int, step: int, spelled: str) -> None:
    pieces = ["You sent ", *(spelled[at : at + step] for at in range(0, len(spelled), step)), " with it."]
    body = FRAMED[content_type]({"i": at, "delta": {"text": one}} for at, one in enumerate(pieces))

    got = events_of(content_type, streamed(content_type, body, size))
    joined = "".join(one["delta"]["text"] for one in got)

    assert list(range(len(pieces))) == [one["i"] for one in got]
    assert None is REDACTOR.left_in([joined])
    assert joined.startswith("You sent ")
    assert joined.endswith("<secret:KEY> with it.") or "<secret:KEY>" in joined


@pytest.mark.parametrize("content_type", FRAMED)
def test_a_stream_without_a_key_is_the_same_bytes(content_type: str) -> None:
    body = FRAMED[content_type]({"delta": {"text": one}} for one in ["quiet ", "sk", "y ", "skis", "", "s"])
    assert body == streamed(content_type, body, 5)


def test_deltas_of_two_texts_at_once_are_kept_apart() -> None:
    deltas = [
        {"index": at % 2, "text": one} for at, one in enumerate([KEY[:5], "so ", KEY[5:12], "it is", KEY[12:], "."])
    ]
    got = events_of("text/event-stream", streamed("text/event-stream", sse(deltas), 9))
    assert "<secret:KEY>" == "".join(str(one["text"]) for one in got if one["index"] == 0)
    assert "so it is." == "".join(str(one["text"]) for one in got if one["index"] == 1)


def test_plain_text_of_events_is_joined_too() -> None:
    body = b"data: " + KEY[:9].encode() + b"\n\n: ping\n\ndata: " + KEY[9:].encode() + b"\r\n\r\ndata: [DONE]\n\n"
    assert b"data: <secret:KEY>\n\n: ping\n\ndata: \r\n\r\ndata: [DONE]\n\n" == streamed("text/event-stream", body, 4)


def test_a_document_that_an_event_spreads_over_several_lines_is_written_in_the_first() -> None:
    spread = (b'data: {"t":\ndata: "%s"\ndata: }\n\n' % piece.encode() for piece in (KEY[:9], KEY[9:]))
    got = streamed("text/event-stream", b"".join(spread), 4)
    assert b'data: {"t":"<secret:KEY>"}\n\ndata: {"t":""}\n\n' == got


def test_lists_inside_of_an_item_do_not_end_it() -> None:
    items = [{"tags": ["a", ["b"]], "t": KEY[:9]}, {"tags": [], "t": KEY[9:]}]
    got = json.loads(streamed("", array(items), 3))
    assert ["<secret:KEY>", [["a", ["b"]], []]] == ["".join(one["t"] for one in got), [one["tags"] for one in got]]


def test_text_beside_a_secret_keeps_what_utf_8_cannot_hold() -> None:
    body = sse([{"half": "\ud83d!", "t": KEY[:9]}, {"t": KEY[9:]}])
    first, _ = events_of("text/event-stream", streamed("text/event-stream", body, 50))
    assert {"half": "\ud83d!", "t": "<secret:KEY>"} == first


@pytest.mark.parametrize(("channels", "is_remembered"), [(1024, True), (1025, False)])
def test_as_many_texts_at_once_are_remembered_as_there_is_room_for(channels: int, is_remembered: bool) -> None:
    begun = {f"text-{number}": KEY[:8] for number in range(channels)}
    stream = stream_of({"content-type": "text/event-stream"}, REDACTOR)
    pieces = [(0.0, sse([begun])), (WINDOW_S + 1, sse([{"text-0": KEY[8:]}]))]
    body = b"".join(piece for _, piece in paced(stream, pieces, WINDOW_S + 2, broken=False))
    *_, last = events_of("text/event-stream", body)
    assert is_remembered != (KEY[8:] == last["text-0"])


@pytest.mark.parametrize("content_type", FRAMED)
@pytest.mark.parametrize("step", [1, 9])
def test_a_key_whose_end_waits_when_its_beginning_is_sent_is_seen_whole(content_type: str, step: int) -> None:
    deltas = [{"delta": {"text": KEY[at : at + step]}} for at in range(0, len(KEY), step)]
    framed = FRAMED[content_type](deltas)
    stream = stream_of({"content-type": content_type}, REDACTOR, is_array=not content_type)
    timed = [(at * WINDOW_S / 10, piece) for at, piece in enumerate(cut(framed, len(framed) // 9))]
    body = b"".join(piece for _, piece in paced(stream, timed, 3 * WINDOW_S, broken=False))
    assert "<secret:KEY>" == "".join(one["delta"]["text"] for one in events_of(content_type, body))


@pytest.mark.parametrize("content_type", [*FRAMED, "application/json"])
@pytest.mark.parametrize("step", [3, 9, 100])
@pytest.mark.parametrize("gap_s", [0.1, 1.5, 2.5])
@pytest.mark.parametrize("broken", [False, True])
def test_pace_and_borders_are_the_same_whatever_a_text_resembles(
    content_type: str, step: int, gap_s: float, broken: bool
) -> None:
    def out(guess: str) -> list[tuple[float, int]]:
        deltas = [{"delta": {"text": guess[at : at + step]}} for at in range(0, len(KEY), step)]
        pieces = [FRAMED.get(content_type, lines)([one]) for one in deltas]
        stream = stream_of({"content-type": content_type}, REDACTOR, is_array=not content_type)
        timed = [(at * gap_s, piece) for at, piece in enumerate(pieces)]
        return [(when, len(piece)) for when, piece in paced(stream, timed, len(pieces) * gap_s, broken=broken)]

    unlike, *others = ("x" * len(KEY), KEY[:-1] + "x", KEY[:4] + "x" * (len(KEY) - 4), "<secret:".ljust(len(KEY), "x"))
    assert [out(unlike)] * 3 == [out(guess) for guess in others]
    assert [when for when, _ in out(unlike)] == [when for when, _ in out(KEY)]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"content": [{"type": "text", "text": KEY[:8]}, {"type": "text", "text": KEY[8:]}]}).encode(),
        sse([{"t": KEY[:8]}, {"t": KEY[8:]}]),
        lines([{"t": KEY[:8]}, {"t": KEY[8:]}]),
    ],
)
def test_so_it_is_in_a_whole_answer_of_a_tool_and_in_its_recording(body: bytes) -> None:
    assert KEY[8:] in body.decode()
    for clean in (REDACTOR.for_agent(body), REDACTOR.body(body)):
        assert b"<secret:KEY>" in clean
        assert KEY[8:] not in clean.decode()


def test_events_that_are_nested_deeply_or_never_end_are_passed_on() -> None:
    deep = b'data: {"t":' + b"[" * 5000 + b"]" * 5000 + b"}\n\n"
    assert deep == streamed("text/event-stream", deep, 1000)
    nested = [
        b'data: {"t":' + b"[" * 800 + b'"%s"' % piece.encode() + b"]" * 800 + b"}\n\n" for piece in (KEY[:9], KEY[9:])
    ]
    assert 2 == streamed("text/event-stream", b"".join(nested), 1000).count(b"\n\n")
    endless = b"data: " + b"x" * 2_000_000
    assert endless == streamed("text/event-stream", endless, 65_536)


def test_a_right_beginning_takes_no_longer_than_a_wrong_one() -> None:
    """Else an agent that sends many guesses in one text reads a key by the clock."""
    key = "sk-live/aB3xY9+qLm=0815 and more"
    right, wrong = (tried({"KEY": key}, key[:known].encode().ljust(40) * 50) for known in (20, 5))
    assert right == wrong


def test_many_keys_with_one_beginning_take_no_longer_than_one() -> None:
    """The work is counted in tries of tokens, which no busy machine changes."""
    text = b"sk-live/" * 500
    assert tried({"K0": "sk-live/aaaaaaaaaaaaaaaa"}, text) * 8 > tried(
        {f"K{n}": f"sk-live/{chr(97 + n % 26) * 12}{n:04}" for n in range(50)}, text
    )


def tried(secrets: dict[str, str], text: bytes) -> int:
    """Calls of Python functions in one search."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    search = Redactor(secrets).search
    assert search is not None
    search.next(text[:100])  # the expressions are compiled once
    sys.setprofile(count)
    try:
        search.next(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("wide", [[], [[]] * 300])
def test_a_wide_event_and_one_that_nothing_ends_are_searched_like_others(wide: list[object]) -> None:
    body = sse({"wide": wide, "delta": {"text": one}} for one in ("You sent ", KEY[:9], KEY[9:]))[:-2]
    got = events_of("text/event-stream", streamed("text/event-stream", body, 7))
    joined = "".join(one["delta"]["text"] for one in got)
    assert "You sent <secret:KEY>" == joined
