"""Failures of the moment are not recorded, and what rested on one is mended by recording again."""

from pathlib import Path

from harness.cassettes.cassette import load_cassette
from harness.cassettes.recordings import Recording

CASSETTE = "cassettes/breakfast/c1.yaml"


def order_an_egg(agent) -> None:
    agent.call("add", item="egg")
    agent.call("order")


def recordings(folder: Path) -> dict[str, list[Recording]]:
    found: dict[str, list[Recording]] = {}
    for one in load_cassette(folder / CASSETTE).recordings if (folder / CASSETTE).exists() else ():
        found.setdefault(one.mark.tool, []).append(one)
    return found


def test_a_lost_write_is_not_recorded_and_nothing_that_rests_on_it(run, shop, tmp_path: Path) -> None:
    shop.resets = 1

    lost = run("record", order_an_egg).recording

    assert {} == recordings(tmp_path)
    assert ({"add": 1}, 2, 0) == (lost.failed, lost.unsettled, lost.added)  # the read, and the probe

    again = run("record", order_an_egg).recording
    assert (3, 0, {}) == (again.added, again.kept, again.failed)
    replayed = run("replay", order_an_egg)
    assert ((), {"order": {"lines": [{"item": "egg"}]}}) == (replayed.misses, dict(replayed.states))


def test_what_was_read_before_a_lost_write_is_recorded(run, shop, tmp_path: Path) -> None:
    def play(agent) -> None:
        agent.call("look", q="egg")
        shop.resets = 1
        order_an_egg(agent)

    run("record", play)

    assert ["look"] == list(recordings(tmp_path))


def test_a_busy_server_is_no_answer_to_a_write(run, shop, suite, tmp_path: Path) -> None:
    """503 is about the moment: whether the write was made is not known."""
    from tests.gateway.test_volatile import with_tool

    shop.answer = (503, {}, b"{}")
    busy = with_tool(suite, "answer", effect="write")

    def play(agent) -> None:
        agent.call("answer")
        agent.call("order")

    report = run("record", play, suite=busy).recording
    assert ({"answer": 1}, 2) == (report.failed, report.unsettled)
    assert {} == recordings(tmp_path)


def test_what_differs_after_writes_that_the_cassette_has_is_kept_and_named(run, shop) -> None:
    run("record", lambda agent: agent.call("answer"))
    shop.answer = (200, {}, b'{"other": true}')

    report = run("record", lambda agent: agent.call("answer")).recording

    assert (0, 0, 2, ("answer",)) == (report.added, report.replaced, report.kept, report.differing)
