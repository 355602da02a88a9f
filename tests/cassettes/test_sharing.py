"""Servers that seem to share a backend, and the writes that a call of one of them may depend on."""

from pathlib import Path

import pytest

from harness.cassettes.journals import TrialJournal
from harness.cassettes.keys import CallKey, StateChain, call_key
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import SharingWatch, TrialRecording
from harness.suite.suites import StateNames
from harness.suite.tools import HttpRoute, ToolSpec


def key(server: str, tool: str, *, effect: str = "read") -> CallKey:
    spec = ToolSpec.model_validate({"name": tool, "server": server, "effect": effect, "http": HttpRoute(path="/")})
    return call_key(spec, {}, Redactor({}))


READ = key("reports", "report")


def watched(*reads: tuple[dict[str, str], str]) -> SharingWatch:
    watch = SharingWatch()
    for others, answer in reads:
        watch.saw(READ, ("own", others), answer)
    return watch


def test_a_read_that_changes_after_a_write_to_another_server_names_that_server() -> None:
    watch = watched(({}, "a"), ({"shop": "1"}, "b"))
    assert [("reports", "report", ("shop",))] == [(one.server, one.tool, one.others) for one in watch.found]
    assert "servers.reports.state: shop" in watch.found[0].advice


@pytest.mark.parametrize(
    "reads",
    [
        [({}, "a"), ({"shop": "1"}, "a")],
        [({"shop": "1"}, "a"), ({"shop": "1"}, "b")],
        [({}, "a"), ({"shop": "1"}, "b"), ({"shop": "1"}, "c")],
    ],
    ids=["the same answer", "no write between", "changes by itself too"],
)
def test_a_read_that_does_not_change_or_changes_by_itself_names_nobody(reads: list[tuple[dict[str, str], str]]) -> None:
    assert () == watched(*reads).found


def test_writes_elsewhere_are_those_to_servers_that_do_not_say_whether_they_share() -> None:
    chain = StateChain(StateNames(undeclared=frozenset({"reports", "shop"})))
    for server in ("shop", "reports", "shop"):
        chain.advance(key(server, "write", effect="write"))
    assert (1, 2) == (chain.writes("reports"), chain.elsewhere("reports"))
    assert (2, 1) == (chain.writes("shop"), chain.elsewhere("shop"))
    assert None is chain.elsewhere("weather")


def test_a_write_that_is_recorded_leads_to_another_state_and_a_read_does_not(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
    trial = TrialRecording(journal=journal, chain=StateChain())
    places = []
    for call in (READ, key("reports", "write", effect="write")):
        trial.wrote(call)
        position = trial.position(READ)
        places.append((position.writes, position.state == StateChain().state("reports")))
    journal.close()
    assert [(0, True), (1, False)] == places
