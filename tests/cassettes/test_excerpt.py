"""A cassette made of what a trial was seen to be answered plays the same trial again."""

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import CallKey, call_key
from harness.cassettes.player import Missed, Played, Player
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import ObservedAnswer, ObservedCall, excerpt
from harness.suite.tools import HttpRoute, ToolSpec
from harness.values import JsonObject

SCHEMA: JsonObject = {"type": "object"}
LOOK = ToolSpec(name="look", server="shop", effect="read", parameters=SCHEMA, http=HttpRoute(path="/look"))
BUY = ToolSpec(name="buy", server="shop", effect="write", parameters=SCHEMA, http=HttpRoute(path="/buy"))


def key(tool: ToolSpec, **arguments: int) -> CallKey:
    return call_key(tool, dict(arguments), Redactor({}))


def seen(tool: ToolSpec, answer: bytes | None, **arguments: int) -> ObservedCall:
    known = None if answer is None else ObservedAnswer(status=200, body=answer)
    return ObservedCall(key=key(tool, **arguments), answer=known)


def played(cassette: Cassette, calls: list[ObservedCall]) -> list[bytes | None]:
    player = Player(cassette)
    answers = [player.play(call.key) for call in calls]
    return [one.recording.body if isinstance(one, Played) else None for one in answers]


TRIAL = [seen(LOOK, b"2"), seen(LOOK, b"1"), seen(BUY, b'"done"', count=1), seen(LOOK, b"0"), seen(BUY, b"7", count=1)]


def test_what_was_seen_is_played_again_by_the_writes_made_before() -> None:
    cassette = Cassette(excerpt(Cassette(), TRIAL).recordings)
    assert [b"2", b"1", b'"done"', b"0", b"7"] == played(cassette, TRIAL)
    assert isinstance(Player(cassette).play(key(BUY, count=2)), Missed)


def test_what_another_cassette_holds_is_taken_from_it_and_the_rest_of_it_is_not() -> None:
    whole = Cassette(excerpt(Cassette(), [*TRIAL, seen(LOOK, b"9", aisle=3)]).recordings)
    blind = [ObservedCall(key=call.key, answer=None) for call in TRIAL]
    found = excerpt(whole, blind)
    assert ((), 5, 6) == (found.unanswered, len(found.recordings), len(whole))
    assert played(whole, TRIAL) == played(Cassette(found.recordings), TRIAL)


def test_a_call_that_nothing_answers_is_named_and_still_counts_as_a_write() -> None:
    calls = [seen(BUY, None, count=1), seen(LOOK, b"0")]
    found = excerpt(Cassette(), calls)
    assert (key(BUY, count=1),) == found.unanswered
    assert [None, b"0"] == played(Cassette(found.recordings), calls)


def test_an_answer_that_never_came_is_played_as_that() -> None:
    late = ObservedCall(key=key(LOOK), answer=ObservedAnswer(status=504, body=b"", outcome="timeout"))
    (recording,) = excerpt(Cassette(), [late]).recordings
    assert "timeout" == recording.mark.outcome


def test_repeated_calls_are_numbered_without_gaps() -> None:
    found = excerpt(Cassette(), [seen(LOOK, b"2"), seen(LOOK, b"1"), seen(LOOK, b"0")])
    assert [0, 1, 2] == [one.mark.occurrence for one in found.recordings]


def test_a_read_beyond_the_recorded_ones_is_given_the_last_where_they_differ_in_what_is_volatile() -> None:
    cassette = Cassette(excerpt(Cassette(), [seen(LOOK, b'{"at": 1}'), seen(LOOK, b'{"at": 2}')]).recordings)
    player = Player(cassette, volatile={"look": ["/at"]})
    answers = [player.play(key(LOOK)) for _ in range(3)]
    given = [(one.recording.body, one.tier) for one in answers if isinstance(one, Played)]
    assert [(b'{"at": 1}', "exact"), (b'{"at": 2}', "exact"), (b'{"at": 2}', "volatile_reused")] == given
