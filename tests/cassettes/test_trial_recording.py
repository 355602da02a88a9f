"""Which answers of a trial are stored: not those of the moment, and nothing that depends on a lost write."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cassettes.journals import TrialJournal
from harness.cassettes.keys import CallKey, StateChain, call_key
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import TrialRecording
from harness.suite.suites import StateNames
from harness.suite.tools import HttpRoute, ToolSpec


def key(server: str, effect: str) -> CallKey:
    spec = {"name": f"{server}_{effect}", "server": server, "effect": effect, "http": HttpRoute(path="/")}
    return call_key(ToolSpec.model_validate(spec), {}, Redactor({}))


READ, WRITE, ELSEWHERE, WORLD = key("shop", "read"), key("shop", "write"), key("menu", "read"), key("world", "read")


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[TrialRecording]:
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
    yield TrialRecording(journal=journal, chain=StateChain())
    journal.remove()


def outcome(trial: TrialRecording, call: CallKey, outcome: str = "answer", status: int = 200) -> str | None:
    position = trial.position(call)
    trial.wrote(call)
    return trial.outcome(position, outcome, status)


@pytest.mark.parametrize("status", [200, 302, 400, 404, 409, 500, 501, 505])
def test_the_services_own_answers_are_stored(trial: TrialRecording, status: int) -> None:
    assert "answer" == outcome(trial, READ, status=status)
    assert {} == trial.failed


@pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504])
def test_transient_errors_are_counted_and_not_stored(trial: TrialRecording, status: int) -> None:
    assert [None, None] == [outcome(trial, READ, status=status) for _ in range(2)]
    assert {"shop_read": 2} == trial.failed
    assert "answer" == outcome(trial, READ)


@pytest.mark.parametrize("lost", ["timeout", "reset"])
def test_after_a_lost_write_what_depends_on_it_is_not_stored(trial: TrialRecording, lost: str) -> None:
    assert None is outcome(trial, WRITE, lost)
    assert [None, "answer", None] == [outcome(trial, call) for call in (READ, ELSEWHERE, WORLD)]
    assert ({"shop_write": 1}, 2) == (trial.failed, trial.unsettled)


def test_after_a_lost_read_everything_is_stored(trial: TrialRecording) -> None:
    assert [None, "answer", "answer"] == [outcome(trial, READ, "reset"), outcome(trial, READ), outcome(trial, WORLD)]
    assert 0 == trial.unsettled


@pytest.mark.parametrize("lost", ["timeout", "reset"])
def test_where_failures_are_compared_they_are_stored_and_lose_no_write(tmp_path: Path, lost: str) -> None:
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
    trial = TrialRecording(journal=journal, chain=StateChain(), keeps_failures=True)
    assert [lost, "answer", None] == [
        outcome(trial, WRITE, lost),
        outcome(trial, READ),
        outcome(trial, READ, status=503),
    ]
    assert "answer" == outcome(trial, WORLD)
    journal.remove()


def test_a_lost_write_unsettles_every_server_that_may_share_its_state(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
    names = StateNames(undeclared=frozenset({"menu"}))
    trial = TrialRecording(journal=journal, chain=StateChain(names))
    assert [None, None] == [outcome(trial, WRITE, "reset"), outcome(trial, ELSEWHERE)]
    journal.remove()


def _keep(trial: TrialRecording, call: CallKey, body: bytes, **fields) -> None:
    position = trial.position(call)
    trial.wrote(call)
    recording = Recording(mark=position.mark("tool"), arguments=call.arguments, body=body, **{"status": 200, **fields})
    trial.keep(position, recording)


def test_the_name_of_a_state_is_stored_where_it_is_not_the_servers_own(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
    declared = StateNames(names=json.loads('{"shop": "shop", "menu": "shop"}'))
    trial = TrialRecording(journal=journal, chain=StateChain(declared))
    assert ["", "shop", ""] == [trial.position(call).shared for call in (READ, ELSEWHERE, WORLD)]
    journal.remove()


def test_repeated_calls_are_numbered_in_their_state(trial: TrialRecording) -> None:
    for call in (READ, READ, WRITE, READ):
        _keep(trial, call, b"")
    assert [0, 1, 0, 0] == [one.mark.occurrence for one in trial.journal.recordings]
    assert [0, 0, 0, 1] == [one.mark.writes for one in trial.journal.recordings]


def test_writes_elsewhere_are_those_to_servers_that_do_not_say_whether_they_share() -> None:
    chain = StateChain(StateNames(undeclared=frozenset({"menu", "shop"})))
    for call in (WRITE, key("menu", "write"), WRITE):
        chain.advance(call)
    assert (1, 2) == (chain.writes("menu"), chain.elsewhere("menu"))
    assert (2, 1) == (chain.writes("shop"), chain.elsewhere("shop"))
    assert None is chain.elsewhere("weather")
