"""What a player returns: the same call after the same writes, and a read again unless its answers change."""

import pytest

from harness.cassettes.cassette import Cassette
from harness.cassettes.journals import TrialJournal
from harness.cassettes.keys import CallKey, StateChain, call_key, complete_arguments
from harness.cassettes.player import Missed, Played, Player
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import TrialRecording
from harness.suite.suites import StateNames
from harness.suite.tools import HttpRoute, ToolSpec

ADD_EGG = ("add", {"item": "egg"}, b'{"lines": 1}')


def looked(answer: bytes, q: str = "egg"):
    return ("look", {"q": q}, answer)


def played(player: Player, *calls: CallKey) -> list[tuple[bytes, str] | None]:
    answers = [player.play(call) for call in calls]
    return [(one.recording.body, one.tier) if isinstance(one, Played) else None for one in answers]


@pytest.fixture
def calls(look, add) -> dict[str, CallKey]:
    return {
        "egg": call_key(look, complete_arguments(look, {"q": "egg"}), Redactor({})),
        "add egg": call_key(add, {"item": "egg"}, Redactor({})),
        "add ham": call_key(add, {"item": "ham"}, Redactor({})),
    }


def test_a_write_is_never_answered_twice(record, calls) -> None:
    assert [(b'{"lines": 1}', "exact"), None] == played(Player(Cassette(record(ADD_EGG))), *[calls["add egg"]] * 2)


def test_a_request_to_a_model_is_answered_again_although_its_answers_differ(record, calls) -> None:
    of_models = [
        one.model_copy(update={"mark": one.mark.model_copy(update={"kind": "model"})})
        for one in record(looked(b"1"), looked(b"2"))
    ]
    answers = played(Player(Cassette(of_models)), *[calls["egg"]] * 3)
    assert [(b"1", "exact"), (b"2", "exact"), (b"2", "exact_reused")] == answers


@pytest.mark.parametrize(
    ("declared", "tier"), [("/now", "volatile_reused"), ("/*", "volatile_reused"), ("/other", None), ("/now/x", None)]
)
def test_what_changes_has_to_be_declared_as_a_whole(record, calls, declared: str, tier: str | None) -> None:
    cassette = Cassette(record(looked(b'{"now": 1, "a": 0}'), looked(b'{"now": 2, "a": 0}')))
    player = Player(cassette, volatile={"look": [declared]})
    last = played(player, *[calls["egg"]] * 3)[-1]
    assert tier == (last and last[1])


def test_a_changed_status_is_a_change_of_the_whole_answer(record, calls) -> None:
    first, second = record(looked(b"0"), looked(b"0"))
    cassette = Cassette([first, second.model_copy(update={"status": 404})])
    for declared, answered in (("/now", False), ("", True)):
        last = played(Player(cassette, volatile={"look": [declared]}), *[calls["egg"]] * 3)[-1]
        assert answered == (last is not None)


def _of(server: str, effect: str) -> CallKey:
    spec = {"name": f"{server}_{effect}", "server": server, "effect": effect, "http": HttpRoute(path="/")}
    return call_key(ToolSpec.model_validate(spec), {}, Redactor({}))


READ, WRITE, OTHER_WRITE = _of("reports", "read"), _of("reports", "write"), _of("shop", "write")
UNDECLARED = StateNames(undeclared=frozenset({"reports", "shop"}))


def _recorded(tmp_path, names: StateNames | None, *calls: CallKey) -> list[Recording]:
    trial = TrialRecording(
        journal=TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({})), chain=StateChain(names)
    )
    for call in calls:
        position = trial.position(call)
        trial.wrote(call)
        body = str(len(trial.journal.recordings)).encode()
        trial.keep(position, Recording(mark=position.mark("tool"), arguments=call.arguments, status=200, body=body))
    trial.journal.remove()
    return trial.journal.recordings


def test_what_was_recorded_without_the_writes_to_other_servers_is_not_returned_for_servers_that_may_share(
    tmp_path,
) -> None:
    old = Cassette(_recorded(tmp_path, None, READ, OTHER_WRITE))
    alone = Cassette(_recorded(tmp_path, None, READ, WRITE))
    new = Cassette(_recorded(tmp_path, UNDECLARED, READ, OTHER_WRITE))
    missed = Player(old, chain=StateChain(UNDECLARED)).play(READ)
    assert isinstance(missed, Missed)
    assert missed.note is not None
    assert "state: reports" in missed.note
    for cassette in (alone, new):
        assert [(b"0", "exact")] == played(Player(cassette, chain=StateChain(UNDECLARED)), READ)
    assert [(b"0", "exact")] == played(Player(old, chain=StateChain()), READ)


def test_a_write_to_a_server_that_may_share_leads_to_another_state(tmp_path) -> None:
    cassette = Cassette(_recorded(tmp_path, UNDECLARED, READ, OTHER_WRITE, READ))
    player = Player(cassette, chain=StateChain(UNDECLARED))
    assert [(b"1", "exact"), (b"2", "exact"), (b"2", "exact_reused")] == played(player, OTHER_WRITE, READ, READ)
