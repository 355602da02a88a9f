"""A second agent's requests to a host that makes new ids and times, recorded beside a first one's and replayed."""

import time
from typing import Any

from harness.suite.hosts import HostSpec
from tests.gateway.web.hostile import HOST
from tests.walks.recordings.test_second_agent import serve_notes


def noting(seen: list[Any], *, tags: bool):
    """Adds a note and looks at it by the id that it was given; the careful agent tags it too, by id and number."""

    def play(browser) -> None:
        _, note = browser.ask("POST", "/notes", {"text": "watered"})
        seen.append(note)
        seen.append(browser.ask("GET", f"/notes/{note['id']}"))
        if tags:
            seen.append(browser.ask("PUT", f"/notes/{note['id']}/tags/{note['number_id']}"))
            seen.append(browser.ask("GET", f"/notes/{note['id']}"))

    return play


def test_a_second_agents_requests_are_recorded_on_the_first_ones_world_and_replayed(browse) -> None:
    first: list[Any] = []
    second: list[Any] = []
    with serve_notes() as notes:
        host = HostSpec(host=HOST, base_url=notes.url, disposable=True)
        browse("record", noting(first, tags=False), host=host)
        time.sleep(0.01)
        browse("record", noting(second, tags=True), host=host)
        assert (2, []) == (len(notes.kept), notes.refused)  # the service was asked for the note that it has
        assert first == second[:2]  # and the agent was given the note that the cassette has
        asked = len(notes.kept)

        for tags, recorded in ((False, first), (True, second)):
            replayed: list[Any] = []
            record = browse("replay", noting(replayed, tags=tags), host=host)
            assert recorded == replayed
            assert {"exact": len(recorded)} == record.tiers
        assert asked == len(notes.kept)
