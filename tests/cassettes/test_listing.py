"""What a cassette's check finds, and what its listing shows."""

from pathlib import Path

import pytest
import yaml

from harness.cassettes.cassette import Cassette, save_cassette
from harness.cassettes.check import cassette_paths, check_cassette, list_cassettes, show_cassette, shown_cassette
from harness.cassettes.keys import StateChain
from harness.cassettes.recordings import Recording
from harness.suite.suites import StateNames

EGG, TEA, ADD = ("look", {"q": "egg"}, b"1"), ("look", {"q": "tea"}, b"2"), ("add", {"item": "egg"}, b"3")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "suite" / "case.yaml"


def _edited(path: Path, edit) -> None:
    content = yaml.safe_load(path.read_text())
    edit(content["interactions"])
    path.write_text(yaml.safe_dump(content))


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (lambda one: one["request"].update(body='{"q": "egg","limit":5}'), "request.body"),
        (lambda one: one["response"]["x-harness"].update(state="0" * 32), "response.x-harness.state"),
        (lambda one: one["response"]["x-harness"].update(key="0" * 32), "response.x-harness.key"),
        (lambda one: one["response"]["x-harness"].update(kind="probe"), None),
    ],
)
def test_a_check_names_the_field_and_the_line_of_its_recording(path: Path, record, edit, field: str | None) -> None:
    save_cassette(path, Cassette(record(EGG, TEA)), suite="s", case="c")
    _edited(path, lambda interactions: edit(interactions[1]))
    found = check_cassette(path, {})
    if field is None:
        assert "request.uri" in found[0].problem
        return
    second = path.read_text().splitlines().index("- request:", 2) + 1
    assert {(second, f"interactions.1.{field}")} <= {(one.line, one.field) for one in found}
    assert all(str(one).startswith(f"{path}:{second}: field 'interactions.1.") for one in found)


def test_a_state_after_writes_is_not_held_against_the_first_one(path: Path, record) -> None:
    save_cassette(path, Cassette(record(ADD, EGG)), suite="s", case="c")
    assert () == check_cassette(path, {})


def test_recordings_in_another_order_than_the_index_are_placed_by_their_own_lines(path: Path, record) -> None:
    save_cassette(path, Cassette(record(EGG, TEA)), suite="s", case="c")
    _edited(path, lambda interactions: interactions.reverse())
    _edited(path, lambda interactions: interactions[0]["response"]["x-harness"].update(key="0" * 32))
    assert [2] == [one.line for one in check_cassette(path, {})]


def test_files_of_a_suite_are_its_cassettes_but_for_hidden_and_foreign_ones(path: Path, record) -> None:
    for name in ("b.yaml", "a.json", ".c.yaml"):
        save_cassette(path.with_name(name), Cassette(record(EGG)), suite="s", case="c")
    path.with_name("notes.txt").touch()
    assert ["a.json", "b.yaml"] == [one.name for one in cassette_paths(path.parent.parent, "suite")]
    assert [("a", {"service": 1}), ("b", {"service": 1})] == [
        (one.case, one.provenance) for one in list_cassettes(path.parent.parent, "suite")
    ]


def _at(recording: Recording, state: str, **mark: object) -> Recording:
    return recording.model_copy(update={"mark": recording.mark.model_copy(update={"state": state, **mark})})


def test_a_state_without_its_writes_is_described_by_their_number(path: Path, record) -> None:
    [egg] = record(EGG)
    recordings = [
        egg,
        _at(egg, "1" * 32, writes=2),
        _at(egg, "2" * 32, writes=2, elsewhere=3),
        _at(egg, "3" * 32, server="world", writes=4),
    ]
    save_cassette(path, Cassette(recordings), suite="s", case="c")
    assert [
        "before any write",
        "after writes that are not recorded",
        "after 2 writes to it and 3 to others",
        "after 4 writes in all",
    ] == [one.after for one in shown_cassette(path).recordings]


def test_recordings_are_shown_as_data(path: Path, record) -> None:
    egg, _, again = record(EGG, ADD, ("look", {"q": "egg"}, b"\xff"))
    late = again.model_copy(update={"mark": again.mark.model_copy(update={"outcome": "timeout"})})
    save_cassette(path, Cassette([egg.with_provenance("double"), late]), suite="s", case="c")
    shown = shown_cassette(path)
    assert {"double": 1, "service": 1} == shown.provenance
    assert [
        ("look", {"q": "egg", "limit": 5}, 0, "double", "answer", "1"),
        ("look", "service", "timeout", "\ufffd"),
    ] == [
        (one.tool, one.arguments, one.occurrence, one.provenance, one.outcome, one.body)
        if one.outcome == "answer"
        else (one.tool, one.provenance, one.outcome, one.body)
        for one in shown.recordings
    ]
    text = show_cassette(path)
    assert "        200 1 [double]\n" in text
    assert "        timeout [service]\n" in text


def test_an_empty_cassette_has_no_provenance(path: Path) -> None:
    save_cassette(path, Cassette(), suite="s", case="c")
    assert f"{path}: 0 recordings\n" == show_cassette(path)


@pytest.mark.parametrize(("length", "shown"), [(100, "b" * 100), (101, "b" * 97 + "...")])
def test_a_long_answer_is_cut(path: Path, record, length: int, shown: str) -> None:
    save_cassette(path, Cassette(record(("look", {}, b"b" * length))), suite="s", case="c")
    assert f"        200 {shown}\n" in show_cassette(path)


@pytest.mark.parametrize(("same", "from_difference"), [(180, False), (181, True)])
def test_a_request_to_a_model_is_shown_from_where_it_differs_if_it_begins_alike(
    path: Path, record, same: int, from_difference: bool
) -> None:
    requests = []
    for one, end in zip(record(EGG, EGG), ("x" * 1200, "y" * 1200), strict=True):
        mark = one.mark.model_copy(update={"kind": "model"})
        requests.append(one.model_copy(update={"mark": mark, "arguments": '"' + "b" * (same - 1) + end + '"'}))
    save_cassette(path, Cassette(requests), suite="s", case="c")
    assert from_difference == ("characters as in the request before" in show_cassette(path))


def test_a_request_of_a_thousand_characters_is_shown_whole(path: Path, record) -> None:
    [one] = record(EGG)
    mark = one.mark.model_copy(update={"kind": "model"})
    request = one.model_copy(update={"mark": mark, "arguments": '"' + "b" * 998 + '"'})
    save_cassette(path, Cassette([request]), suite="s", case="c")
    assert f"({request.arguments})\n" in show_cassette(path)


def test_the_state_of_several_servers_is_one_of_all_their_writes(add) -> None:
    from harness.cassettes.keys import call_key
    from harness.cassettes.redaction import Redactor

    chain = StateChain(StateNames())
    other = add.model_copy(update={"server": "shop"})
    assert chain.state("world") == StateChain().state("world")
    states = {chain.state("world")}
    for tool in (add, other, add):
        chain.advance(call_key(tool, {}, Redactor({})))
        states.add(chain.state("world"))
    assert (4, 3, 2, 1) == (len(states), chain.writes("world"), chain.writes("menu"), chain.writes("shop"))
