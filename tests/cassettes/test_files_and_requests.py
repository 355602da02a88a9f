"""Files that people changed, journals that recordings left, and the HTTP requests that recordings are filed as."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import check_cassette
from harness.cassettes.journals import TrialJournal, journals_left
from harness.cassettes.recordings import sent_request
from harness.cassettes.redaction import Redactor
from harness.errors import CassetteError
from harness.values import JsonObject, canonical_json

EGG, TEA = ("look", {"q": "egg"}, b"1"), ("look", {"q": "tea"}, b"2")


@pytest.fixture
def path(tmp_path: Path, record) -> Path:
    made = tmp_path / "s" / "c.yaml"
    save_cassette(made, Cassette(record(EGG, TEA)), suite="s", case="c")
    return made


def _without(part: str, name: str):
    return lambda interactions: interactions[1][part].pop(name)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        *(
            (_without("request", name), "interactions.1.request': an object")
            for name in ("method", "uri", "body", "headers")
        ),
        *((_without("response", name), "interactions.1.response.") for name in ("status", "body")),
        (lambda interactions: interactions.append("text"), "interactions.2.request': an object"),
    ],
)
def test_a_recording_without_a_part_is_named_with_its_line(path: Path, edit, field: str) -> None:
    content = yaml.safe_load(path.read_text())
    edit(content["interactions"])
    path.write_text(yaml.safe_dump(content))
    [found] = check_cassette(path, {})
    begins = [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("- ")]
    assert begins[int(field.split(".")[1])] <= int(found.problem.partition(":")[0])
    assert f"field '{field}" in found.problem


@pytest.mark.parametrize("content", ["[]", "interactions: 3\nversion: 1\n", "text"])
def test_a_file_without_a_list_of_recordings_says_so(path: Path, content: str) -> None:
    path.write_text(content)
    [found] = check_cassette(path, {})
    assert "field 'interactions'" in str(found)


def test_two_recordings_of_one_place_are_named(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    content["interactions"].append(content["interactions"][0])
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CassetteError, match=r"'interactions\.2'.*'interactions\.0'"):
        load_cassette(path)


def test_bytes_that_are_no_text_and_entries_that_are_no_file_are_refused(path: Path) -> None:
    path.write_bytes(b"# \xff")
    with pytest.raises(CassetteError, match=r"UTF-8 \(at byte 2\)"):
        load_cassette(path)
    path.unlink()
    with pytest.raises(CassetteError, match=re.escape(str(path))):
        load_cassette(path)
    os.mkfifo(path)
    with pytest.raises(CassetteError):
        load_cassette(path)


def test_the_journals_of_ended_recordings_are_left_and_those_of_running_ones_are_not(tmp_path: Path, record) -> None:
    ended, running = (TrialJournal(tmp_path, suite=suite, case="c", redactor=Redactor({})) for suite in ("s", "t"))
    for one in record(EGG):
        ended.add(one)
    ended.close()
    assert [ended.path] == journals_left(tmp_path)
    running.close()
    assert [ended.path, running.path] == journals_left(tmp_path)
    running.remove()
    assert [ended.path] == journals_left(tmp_path)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ("GET", "http://h/p", {}, None)),
        ({"query": {"a": "1 2", "b": [3, 4]}}, ("GET", "http://h/p?a=1%202&b=3&b=4", {}, None)),
        ({"query": "raw=1"}, ("GET", "http://h/p?raw=1", {}, None)),
        ({"headers": {"x": 1}}, ("GET", "http://h/p", {"x": "1"}, None)),
        ({"headers": ["x"]}, ("GET", "http://h/p", {}, None)),
        (
            {"method": "POST", "json": {"b": 1, "a": None}},
            ("POST", "http://h/p", {"content-type": "application/json"}, '{"a":null,"b":1}'),
        ),
        ({"json": None}, ("GET", "http://h/p", {"content-type": "application/json"}, "null")),
        (
            {"form": {"a": "1 2", "b": ["x", "y"]}},
            ("GET", "http://h/p", {"content-type": "application/x-www-form-urlencoded"}, "a=1+2&b=x&b=y"),
        ),
        ({"text": "plain"}, ("GET", "http://h/p", {}, "plain")),
        ({"text": 3}, ("GET", "http://h/p", {}, None)),
    ],
)
def test_a_request_to_a_host_is_filed_as_it_was_sent(asked: JsonObject, expected: tuple[Any, ...]) -> None:
    sent = sent_request(canonical_json({"method": "GET", "url": "http://h/p"} | asked))
    assert sent is not None
    assert expected == (sent.method, sent.uri, dict(sent.headers), sent.body)


@pytest.mark.parametrize("arguments", ["[]", "{}", '{"url": 3}', '"http://h/p"'])
def test_arguments_without_an_address_are_no_request(arguments: str) -> None:
    assert None is sent_request(arguments)


def test_a_secret_that_reaches_over_values_is_taken_out_where_json_remains() -> None:
    redactor = Redactor({"BOTH": 'first","second', "HALF": 'third","fou'})
    assert ["<secret:BOTH>"] == json.loads(redactor.body(b'["first","second"]'))
    cut = redactor.body(b'{"a":"third","fourth":1}')
    assert json.loads(cut) is not None
    assert ["<secret:BOTH>", "\udc80"] == redactor.value(['first","second', "\udc80"])
