"""What a trial's recordings change in a cassette."""

import pytest

from harness.cassettes.journals import merged_recordings
from harness.cassettes.recordings import Recording

EGG = ("look", {"q": "egg"}, b'{"found": ["egg"]}')
NO_EGG = ("look", {"q": "egg"}, b'{"found": []}')
ADD = ("add", {"item": "egg"}, b'{"lines": 1}')


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


def test_tools_that_answered_otherwise_are_named_once(record) -> None:
    old, new = record(EGG, EGG), record(NO_EGG, NO_EGG)
    _, done = merged_recordings(old, new)
    assert (2, 2, ("look",)) == (done.differs, done.kept, done.differing)
    assert () == merged_recordings(old, old)[1].differing


@pytest.mark.parametrize(("refresh", "kept"), [(False, "double"), (True, "service")])
def test_a_confirmed_answer_has_the_current_provenance_on_refresh(record, refresh: bool, kept: str) -> None:
    [one] = record(EGG)
    [merged], _ = merged_recordings([one.with_provenance("double")], [one], refresh=refresh)
    assert kept == merged.mark.provenance


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
