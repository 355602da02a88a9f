"""Spans are sent to a collector while trials run, and whatever the collector does, trials do not wait for it."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.errors import UsageError
from harness.traces import names
from harness.traces.exporting import Collector, ExportReport, LiveExport, otlp_endpoint, otlp_headers, shown
from harness.traces.recorder import TraceRecorder, TraceSubject
from harness.traces.spans import Span
from harness.traces.tracer import Tracing
from tests.traces.receiver import Receiver, receiving

SUBJECT = TraceSubject(trial_id="t1", case_id="c1", attempt=2, agent="taker", version="v1")


class Exported:
    """A tracer that sends to `url`, and what became of its spans."""

    def __init__(self, url: str) -> None:
        self.export = LiveExport(url)
        self.tracing = Tracing({"harness.run.id": "r1"}, [self.export.processor])
        self.report: ExportReport | None = None

    def recorder(self) -> TraceRecorder:
        return TraceRecorder(SUBJECT, self.tracing)


@contextmanager
def exported(url: str) -> Iterator[Exported]:
    made = Exported(url)
    try:
        yield made
    finally:
        made.report = made.export.close()


def call(recorder: TraceRecorder, name: str = "look", result: str = "1") -> None:
    recorder.record(f"execute_tool {name}", {names.TOOL_NAME: name, names.TOOL_RESULT: result}, time.monotonic_ns())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


def test_a_call_arrives_while_its_trial_goes_on_and_the_rest_when_it_has_ended(receiver: Receiver) -> None:
    with exported(f"{receiver.url}/v1/traces") as sent:
        recorder = sent.recorder()
        recorder.turn("an egg")
        call(recorder)
        assert receiver.wait_for(lambda got: len(got.spans) == 1)  # nothing else has ended yet
        assert ["execute_tool look"] == [span.name for span in receiver.spans]
        stored = recorder.finish()

    assert sent.report == ExportReport(endpoint=f"{receiver.url}/v1/traces", sent=3, lost=0)
    assert ["invoke_agent taker", "turn"] == receiver.path(receiver.one("execute_tool look"))
    arrived = {(span.trace_id, span.span_id, span.parent_id or None, span.start_ns, span.end_ns, tuple(span.attributes))
               for span in receiver.spans}  # fmt: skip
    assert arrived == {
        (span.trace_id, span.span_id, span.parent_id, span.start_ns, span.end_ns, tuple(span.attributes))
        for span in stored
    }
    resource = receiver.spans[0].resource
    assert ("trial-harness", "r1") == (resource["service.name"], resource["harness.run.id"])


def test_a_trial_that_is_broken_off_ends_as_an_error(receiver: Receiver) -> None:
    with exported(receiver.url) as sent:
        recorder = sent.recorder()
        call(recorder)
        recorder.forget()

    assert 2 == receiver.one("invoke_agent taker").status  # STATUS_CODE_ERROR
    assert 1 == len(receiver.named("turn"))


@pytest.mark.parametrize("status", [429, *(pytest.param(status, marks=pytest.mark.slow) for status in (502, 503, 504))])
def test_what_a_collector_puts_off_is_sent_again(receiver: Receiver, status: int) -> None:
    receiver.statuses = [status]
    with exported(receiver.url) as sent:
        call(sent.recorder())

    assert (1, 0) == (sent.report.sent, sent.report.lost)
    assert 2 == len(receiver.requests)


@pytest.mark.parametrize(
    ("status", "tries"),
    [(400, 1), (401, 1), (307, 1), *(pytest.param(one, 2, marks=pytest.mark.slow) for one in (429, 503))],
)
def test_what_a_collector_refuses_for_good_is_counted(receiver: Receiver, status: int, tries: int) -> None:
    receiver.status = status
    with exported(receiver.url) as sent:
        recorder = sent.recorder()
        call(recorder)
        assert receiver.wait_for(lambda got: len(got.requests) >= tries)
        stored = recorder.finish()

    assert 3 == len(stored)
    assert (0, 3, f"HTTP {status}") == (sent.report.sent, sent.report.lost, sent.report.answer)
    assert f"3 of 3 spans were not taken by {receiver.url}; its last failure: HTTP {status}" == sent.report.words


@pytest.mark.slow
def test_where_nothing_listens_trials_go_on_and_the_run_says_what_was_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"http://127.0.0.1:{held.getsockname()[1]}/v1/traces"
    began = time.monotonic()
    with exported(address) as sent:
        recorder = sent.recorder()
        for _ in range(1000):
            call(recorder)
        assert 1002 == len(recorder.finish())
        traced_s = time.monotonic() - began

    assert (0, 1002, "no connection") == (sent.report.sent, sent.report.lost, sent.report.answer)
    assert traced_s < 60  # a thousand spans that each waited for a request would take an hour
    assert time.monotonic() - began < 120


@pytest.mark.slow
def test_a_collector_that_never_answers_delays_no_trial_and_the_end_of_a_run_by_seconds() -> None:
    with receiving(answers=False) as receiver, exported(receiver.url) as sent:
        recorder = sent.recorder()
        call(recorder)
        assert receiver.wait_for(lambda got: len(got.requests) == 1)  # it holds the sender now
        began = time.monotonic()
        for _ in range(1000):
            call(recorder)
        assert 1003 == len(recorder.finish())
        traced_s, began = time.monotonic() - began, time.monotonic()
        sent.report = sent.export.close()
        ended_s = time.monotonic() - began

    assert (0, 1003) == (sent.report.sent, sent.report.lost)
    assert traced_s < 60  # a thousand spans that each waited for a request would take an hour
    assert ended_s < 25


@pytest.mark.slow
def test_what_waits_for_a_slow_collector_is_bounded_and_none_of_it_is_missing_from_the_trial() -> None:
    with receiving(answers=False) as receiver, exported(receiver.url) as sent:
        recorder = sent.recorder()
        for _ in range(200):
            call(recorder, result="x" * 1024 * 1024)
        assert 202 == len(recorder.finish())
        receiver.gate.set()
    assert 0 < len(receiver.spans) <= 66  # 64 of 1 MB each, and the two small ones
    assert (len(receiver.spans), 202) == (sent.report.sent, sent.report.sent + sent.report.lost)
    assert "too slow" in sent.report.words

    with receiving(answers=False) as receiver, exported(receiver.url) as sent:
        recorder = sent.recorder()
        for _ in range(2200):
            call(recorder)
        assert 2202 == len(recorder.finish())
        receiver.gate.set()
    # Where recording takes longer than a request may, a batch is given up meanwhile and as many more are admitted.
    assert (2048, 2202) == (sent.report.sent, sent.report.sent + sent.report.lost)


def test_what_one_span_cannot_say_keeps_no_other_from_being_sent(receiver: Receiver) -> None:
    with exported(receiver.url) as sent:
        recorder = sent.recorder()
        call(recorder, "whole")
        recorder.record(
            "execute_tool odd", {"half": "a\ud800b", "large": 1 << 70, "tiny": -(1 << 63)}, time.monotonic_ns()
        )
        recorder.link(reported(span_id) for span_id in ("00000000000000aa", "", "0" * 16, "abc", "f" * 32))
        recorder.finish()

    odd, own = receiver.one("execute_tool odd"), receiver.one("mine")
    assert {"half": "a?b", "large": str(1 << 70), "tiny": -(1 << 63)}.items() <= odd.attributes.items()
    assert ("00000000000000aa", "agent") == (own.span_id, own.attributes[names.ORIGIN])
    assert {"depth": '{"a": [1]}', "wide": str((1 << 64) - 1)}.items() <= own.attributes.items()
    assert (5, 0) == (sent.report.sent, sent.report.lost)
    assert ["invoke_agent taker"] == receiver.path(own)


def reported(span_id: str) -> Span:
    facts = {"depth": {"a": [1]}, "wide": (1 << 64) - 1, "none": None, names.STEP_KIND: "tool"}
    event = {"time_ns": (1 << 64) - 1, "name": "e", "attributes": {"n": 1}}
    return Span(
        trace_id="ab", span_id=span_id, name="mine", start_ns=1, end_ns=2, attributes=facts, events=(event, event)
    )


def test_a_flood_of_the_agents_own_spans_pushes_out_none_of_the_harnesss() -> None:
    with receiving(answers=False) as receiver, exported(receiver.url) as sent:
        recorder = sent.recorder()
        recorder.link(reported(f"{number:016x}") for number in range(1, 5000))
        for _ in range(900):
            call(recorder)
        receiver.gate.set()

    assert 900 == len(receiver.named("execute_tool look"))
    assert 0 < len(receiver.named("mine")) <= 1024


def test_requests_are_of_a_size_that_collectors_take(receiver: Receiver) -> None:
    with exported(receiver.url) as sent:
        recorder = sent.recorder()
        for _ in range(20):
            call(recorder, result="x" * 1024 * 1024)
        recorder.finish()

    assert (22, 0) == (sent.report.sent, sent.report.lost)
    assert max(len(body) for _, _, body in receiver.requests) <= 4 * 1024 * 1024 + 10_000


@pytest.mark.parametrize(
    ("told", "environment", "url"),
    [
        ("http://h:4318", {}, "http://h:4318/v1/traces"),
        ("http://h:4318/", {}, "http://h:4318/v1/traces"),
        ("http://h:4318/?key=1", {}, "http://h:4318/v1/traces?key=1"),
        ("https://h/own/path", {}, "https://h/own/path"),
        ("env", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}, "http://h:4318/v1/traces"),
        ("env", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h/otlp/"}, "http://h/otlp/v1/traces"),
        ("env", {"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/t"}, "http://h/t"),
    ],
)
def test_the_endpoint(monkeypatch: pytest.MonkeyPatch, told: str, environment: dict[str, str], url: str) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert url == otlp_endpoint(told)


@pytest.mark.parametrize("told", ["localhost:4317", "grpc://h:4317", "http://", "http://[::1", "http://h:port", ""])
def test_an_endpoint_that_is_no_url_is_refused(told: str) -> None:
    with pytest.raises(UsageError, match=r"http\(s\)"):
        otlp_endpoint(told)


def test_an_environment_that_names_no_endpoint_is_refused_with_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        otlp_endpoint("env")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317")
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_ENDPOINT='h:4317'"):
        otlp_endpoint("env")


def test_headers_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=a%20key, x-team=evals")
    assert {"x-api-key": "a key", "x-team": "evals"} == otlp_headers()
    assert Collector(receiver.url).send([]) is None
    assert "a key" == receiver.requests[0][1]["x-api-key"]


def test_headers_that_cannot_be_read_are_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=evals,sk-not-a-pair-0123")
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_HEADERS: item 2") as caught:
        LiveExport(receiver.url)
    assert "sk-not" not in str(caught.value) + caplog.text


def test_an_endpoint_is_shown_without_what_may_be_a_key() -> None:
    assert "https://h:1/v1/traces" == shown("https://user:key@h:1/v1/traces?token=key")
