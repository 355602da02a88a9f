"""What a trial's recordings change in a cassette."""

import pytest

from harness.cassettes.journals import Merge, merged_recordings
from harness.cassettes.recordings import Recording

EGG = ("look", {"q": "egg"}, b'{"found": ["egg"]}')
NO_EGG = ("look", {"q": "egg"}, b'{"found": []}')
ADD = ("add", {"item": "egg"}, b'{"lines": 1}')


@pytest.mark.parametrize("count", ["added", "replaced", "dropped", "marked"])
def test_each_change_alone_changes_the_cassette(count: str) -> None:
    assert Merge(**{count: 1}).changes_cassette


@pytest.mark.parametrize("count", ["kept", "differs"])
def test_what_is_kept_or_only_differs_changes_nothing(count: str) -> None:
    assert not Merge(**{count: 1}).changes_cassette


def elsewhere(recording: Recording) -> Recording:
    """The same call of another server, which shares no state with the first."""
    return recording.model_copy(update={"mark": recording.mark.model_copy(update={"server": "weather"})})


def test_an_answer_that_rests_on_a_new_write_replaces_the_cassettes_and_one_of_another_server_does_not(record) -> None:
    (write,), (old,), (new,) = record(ADD), record(EGG), record(NO_EGG)
    bodies = []
    for of_server in (lambda one: one, elsewhere):
        merged, done = merged_recordings([of_server(old)], [write, of_server(new)])
        bodies.append([one.body for one in merged if one.mark.tool == "look"])
        assert 1 == done.differs
    assert [[NO_EGG[2]], [EGG[2]]] == bodies


def failed(recording: Recording) -> Recording:
    """As versions before stored it: with the error of the moment."""
    return recording.model_copy(update={"status": 503, "body": b""})


def test_what_followed_a_write_that_had_failed_is_dropped_unless_it_is_made_again(record) -> None:
    add_tea = ("add", {"item": "tea"}, b'{"lines": 2}')
    before, write, after, second, last = record(EGG, ADD, EGG, add_tea, NO_EGG)
    merged, done = merged_recordings([before, failed(write), after, second, last], [write, after])
    assert [before.place, write.place, after.place] == [one.place for one in merged]
    assert (0, 1, 1, 2) == (done.added, done.replaced, done.kept, done.dropped)


def test_a_failed_write_of_another_server_drops_nothing(record) -> None:
    write, after = record(ADD, EGG)
    merged, done = merged_recordings([failed(elsewhere(write)), after], [elsewhere(write)])
    assert ({write.status}, 0) == ({one.status for one in merged}, done.dropped)


def test_a_failed_read_is_replaced_and_nothing_else(record) -> None:
    read, write, after = record(EGG, ADD, EGG)
    merged, done = merged_recordings([failed(read), write, after], [read])
    assert (3, 1, 0) == (len(merged), done.replaced, done.dropped)


def test_tools_that_answered_otherwise_are_named_once(record) -> None:
    old, new = record(EGG, EGG), record(NO_EGG, NO_EGG)
    _, done = merged_recordings(old, new)
    assert (2, 2, ("look",)) == (done.differs, done.kept, done.differing)
    assert () == merged_recordings(old, old)[1].differing


@pytest.mark.parametrize(
    ("held", "received", "refresh", "kept", "marked"),
    [
        (None, "service", False, "service", 1),
        (None, None, False, None, 0),
        ("double", "service", False, "double", 0),
        ("double", "service", True, "service", 1),
        ("double", None, True, "double", 0),
        ("service", "service", True, "service", 0),
    ],
)
def test_a_confirmed_answer_states_its_provenance(record, held, received, refresh: bool, kept, marked: int) -> None:
    [one] = record(EGG)
    old, new = (one if whence is None else one.with_provenance(whence) for whence in (held, received))
    [merged], done = merged_recordings([old], [new], refresh=refresh)
    assert (kept, marked) == (merged.mark.provenance, done.marked)


@pytest.mark.parametrize(
    ("server", "elsewhere_writes", "replaced"), [("world", None, 1), ("menu", 1, 1), ("w", None, 0)]
)
def test_after_a_new_write_answers_that_may_rest_on_it_are_replaced(
    record, server: str, elsewhere_writes: int | None, replaced: int
) -> None:
    (write,), (old,), (new,) = record(ADD), record(EGG), record(NO_EGG)
    fields = {"server": server, "elsewhere": elsewhere_writes, "shared": "" if server != "menu" else "other"}
    old, new = (one.model_copy(update={"mark": one.mark.model_copy(update=fields)}) for one in (old, new))
    assert replaced == merged_recordings([old], [write, new])[1].replaced
    assert 0 == merged_recordings([old, write], [write, new])[1].replaced
