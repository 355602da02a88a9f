"""Cassettes on disk: deterministic, readable by stock vcrpy, refused with a place when they are wrong."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cassettes.cassette import Cassette, cassette_path, load_cassette, save_cassette
from harness.cassettes.check import check_cassette, list_cassettes, show_cassette
from harness.cassettes.journals import merge_recordings
from harness.cassettes.keys import call_key, complete_arguments
from harness.cassettes.player import Missed, Played, Player
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.errors import CassetteError

EGG = ("look", {"q": "egg"}, b'{"found": ["egg"]}')
TEA = ("look", {"q": "tea"}, '{"found": ["thé \U0001f375 \\u0000"]}'.encode())
ADD_EGG = ("add", {"item": "egg"}, b'{"lines": 1}')
ADD_TEA = ("add", {"item": "tea"}, b'{"lines": 1}')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "suite" / "case.yaml"


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_cassette_is_the_same_after_it_was_saved_and_loaded(path: Path, record, ending: str) -> None:
    cassette = Cassette(record(EGG, TEA, ADD_EGG, EGG, EGG))
    save_cassette(path.with_suffix(f".{ending}"), cassette, suite="s", case="c")

    assert load_cassette(path.with_suffix(f".{ending}")).recordings == cassette.recordings


@given(body=st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_body_survives_the_file(path: Path, record, body: bytes) -> None:
    recordings = [record(EGG)[0].model_copy(update={"body": body})]
    save_cassette(path, Cassette(recordings), suite="s", case="c")

    assert load_cassette(path).recordings[0].body == body


def test_who_recorded_first_does_not_change_a_byte(tmp_path: Path, record) -> None:
    one, other = record(EGG, ADD_EGG, EGG, EGG), record(TEA, ADD_TEA, TEA)
    for folder, parts in (("a", (one, other)), ("b", (other, one, one))):
        for part in parts:
            merge_recordings(tmp_path / folder / "case.yaml", part, "s", "c")

    assert (tmp_path / "a/case.yaml").read_bytes() == (tmp_path / "b/case.yaml").read_bytes()


STOCK = """
import json, sys, urllib.request
import vcr, requests
path, serializer = sys.argv[1:]
answers = []
with vcr.use_cassette(path, serializer=serializer, record_mode="none", match_on=["method", "uri", "body"]) as cassette:
    for text in json.load(sys.stdin):
        answers.append(requests.post("http://menu.tool.invalid/look", data=text.encode()).text)
    request = urllib.request.Request("http://menu.tool.invalid/add", b'{"item":"egg"}', method="POST")
    answers.append(urllib.request.urlopen(request).read().decode())
    assert cassette.all_played
print(json.dumps(answers))
"""


@pytest.mark.parametrize(("ending", "serializer"), [("yaml", "yaml"), ("json", "json")])
def test_stock_vcrpy_replays_our_cassettes(path: Path, record, ending: str, serializer: str) -> None:
    path = path.with_suffix(f".{ending}")
    recordings = record(EGG, TEA, ADD_EGG)
    save_cassette(path, Cassette(recordings), suite="s", case="c")
    # In a process of its own: vcrpy's patching is global.
    done = subprocess.run(
        [sys.executable, "-c", STOCK, str(path), serializer],
        input=json.dumps([recordings[0].arguments, recordings[1].arguments]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads(done.stdout) == [call[2].decode() for call in (EGG, TEA, ADD_EGG)]


RESAVE = """
import sys
from vcr.cassette import Cassette
cassette = Cassette.load(path=sys.argv[1])
cassette.dirty = True
cassette._save(force=True)
"""


def test_a_cassette_that_stock_vcrpy_saved_again_still_works(path: Path, record) -> None:
    cassette = Cassette(record(EGG, ADD_EGG, EGG))
    save_cassette(path, cassette, suite="s", case="c")
    subprocess.run([sys.executable, "-c", RESAVE, str(path)], timeout=60, check=True)

    assert load_cassette(path).recordings == cassette.recordings
    assert check_cassette(path, {}) == ()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[: len(text) // 2] + "\n  - ]", ["case.yaml:", "is not YAML"]),
        (lambda text: "", ["'interactions': a list is expected"]),
        (lambda text: text.replace("    method: POST\n", "", 1), ["case.yaml:2", "'interactions.0.request'", "method"]),
        (
            lambda text: text.replace("effect: read", "effect: maybe", 1),
            ["case.yaml:19:", "'interactions.0.response.x-harness.effect'", "'read' or 'write'"],
        ),
        (lambda text: text.replace("x-harness:", "x-other:", 1), ["'interactions.0.response.x-harness'"]),
        (
            lambda text: text.replace("code: 200", "code: ok", 1),
            ["case.yaml:16:", "'interactions.0.response.status.code'"],
        ),
        (lambda text: text.replace("  response:", "  answer:", 1), ["case.yaml:2", "'interactions.0.response'"]),
        (lambda text: "interactions: [[]]\n", ["'interactions.0.request'"]),
        (lambda text: text.replace("menu.tool.invalid", "shop.tool.invalid", 1), ["request.uri"]),
        (lambda text: text.replace("format: 1", "format: 2"), ["'metadata.harness.format'"]),
        (lambda text: text.replace("version: 1", "version: !!python/object:os.system {}"), ["is not YAML"]),
        (lambda text: text + text.split("metadata:")[0].removeprefix("interactions:\n"), ["is not YAML"]),
    ],
)
def test_a_malformed_cassette_is_named_with_line_and_field(path: Path, record, damage, said: list[str]) -> None:
    save_cassette(path, Cassette(record(EGG, TEA)), suite="s", case="c")
    path.write_text(damage(path.read_text()))

    with pytest.raises(CassetteError) as caught:
        load_cassette(path)
    assert [part for part in said if part not in str(caught.value)] == []
    assert caught.value.remedy


def test_a_recording_that_stands_there_twice_is_refused(path: Path, record) -> None:
    save_cassette(path, Cassette([*record(EGG), *record(EGG)]), suite="s", case="c")
    with pytest.raises(CassetteError, match=r"'interactions\.1'.*'interactions\.0'"):
        load_cassette(path)


def test_two_files_for_one_case_are_refused(path: Path, record) -> None:
    for ending in (".yaml", ".json"):
        save_cassette(path.with_suffix(ending), Cassette(record(EGG)), suite="suite", case="case")
    with pytest.raises(CassetteError, match=r"\.yaml and .*\.json"):
        cassette_path(path.parent.parent, "suite", "case")


def test_check_finds_a_key_that_is_not_its_calls_and_a_secret(path: Path, record) -> None:
    save_cassette(path, Cassette(record(EGG, TEA)), suite="s", case="c")
    assert check_cassette(path, {"KEY": "longsecret"}) == ()
    path.write_text(path.read_text().replace('"q":"egg"', '"q":"ham"').replace("found", "longsecret"))
    found = [(finding.field, finding.problem) for finding in check_cassette(path, {"KEY": "longsecret"})]

    assert ["interactions.0.response.x-harness.key", "interactions.0", "interactions.1"] == [
        field for field, _ in found
    ]
    assert [True, True] == ["'KEY'" in problem for _, problem in found[1:]]
    assert [finding.line for finding in check_cassette(path, {})] == [2]


def test_check_tells_of_a_cassette_that_cannot_be_loaded(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("interactions: [{}]\n")

    assert [str(finding).startswith(f"{path}:") for finding in check_cassette(path, {})] == [True]


def test_a_listing_counts_recordings_by_tool(path: Path, record) -> None:
    save_cassette(path, Cassette(record(EGG, TEA, ADD_EGG)), suite="suite", case="case")
    (path.parent / ".case.123.journal").write_text("")

    assert [
        (cassette.case, cassette.recordings, cassette.tools) for cassette in list_cassettes(path.parent.parent, "suite")
    ] == [("case", 3, {"add": 1, "look": 2})]


def test_a_cassette_can_be_read_as_text(path: Path, record) -> None:
    save_cassette(path, Cassette(record(EGG, EGG, ADD_EGG, EGG)), suite="s", case="c")

    assert show_cassette(path) == (
        f"{path}: 4 recordings, recorded from a service\n"
        "\n"
        "menu, before any write\n"
        '  write add({"item":"egg"})\n'
        '        200 {"lines": 1}\n'
        '  read  look({"limit":5,"q":"egg"})\n'
        '        200 {"found": ["egg"]}\n'
        '  read  look({"limit":5,"q":"egg"}) (time 2)\n'
        '        200 {"found": ["egg"]}\n'
        "\n"
        'menu, after write 1, add({"item":"egg"})\n'
        '  read  look({"limit":5,"q":"egg"})\n'
        '        200 {"found": ["egg"]}\n'
    )


def play_time_s(recordings: list[Recording], look) -> float:
    player = Player(Cassette(recordings))
    calls = [
        call_key(look, complete_arguments(look, {"q": f"{number}"}), Redactor({}))
        for number in range(0, len(recordings), max(1, len(recordings) // 100))
    ]
    best = float("inf")
    for _ in range(5):
        began = time.thread_time()
        for call in calls:
            assert isinstance(player.play(call), Played)
        best = min(best, (time.thread_time() - began) / len(calls))
    return best


def test_a_hit_costs_the_same_on_a_small_and_on_a_big_cassette(record, look) -> None:
    def cassette_of(size: int) -> list[Recording]:
        return record(*(("look", {"q": f"{number}"}, b"{}") for number in range(size)))

    small, big = play_time_s(cassette_of(10), look), play_time_s(cassette_of(10_000), look)

    # A look-up that walked the cassette would be a thousand times slower.
    assert big < 10 * small


def test_a_miss_names_the_three_nearest_recordings_and_what_differs(record, look) -> None:
    cassette = Cassette(
        record(
            ("look", {"q": "egg", "limit": 2}, b"1"),
            ("look", {"q": "ham", "limit": 9}, b"2"),
            ("look", {"q": "egg", "limit": 9, "x": {"y": [1]}}, b"3"),
            ("look", {"a": 1, "b": 2, "c": 3}, b"4"),
        )
    )
    missed = Player(cassette).play(call_key(look, {"q": "egg", "limit": 9, "x": {"y": [True]}}, Redactor({})))

    assert isinstance(missed, Missed)
    assert [item.difference for item in missed.nearest] == [
        "$.x.y[0]: true here, 1 in the recording",
        "$.limit: 9 here, 2 in the recording",
        '$.q: "egg" here, "ham" in the recording',
    ]
    assert 'look({"limit":9,"q":"egg","x":{"y":[true]}})' in missed.message


def test_a_miss_after_other_writes_says_so(record, look, add) -> None:
    player = Player(Cassette(record(EGG, ADD_EGG)))
    player.play(call_key(add, {"item": "ham"}, Redactor({})))
    missed = player.play(call_key(look, {"q": "egg", "limit": 5}, Redactor({})))

    assert isinstance(missed, Missed)
    assert [item.difference for item in missed.nearest] == ["the same arguments, but after other writes"]


def of_model(recording: Recording, arguments: str) -> Recording:
    mark = recording.mark.model_copy(update={"kind": "model"})
    return recording.model_copy(update={"mark": mark, "arguments": arguments})


def test_a_long_request_to_a_model_is_shown_from_where_it_differs_from_the_one_before(path: Path, record) -> None:
    first, second = record(EGG, EGG)
    begin = '"' + "b" * 499
    requests = [of_model(first, begin + "x" * 2_000 + '"'), of_model(second, begin + "y" * 2_100 + '"')]
    save_cassette(path, Cassette(requests), suite="s", case="c")
    shown = [line.partition("(")[2] for line in show_cassette(path).splitlines() if line.startswith("  read")]
    assert [
        f"{begin}{'x' * 500}... (1501 characters more))",
        f"(440 characters as in the request before) ...{'b' * 60}{'y' * 940}... (1161 characters more)) (time 2)",
    ] == shown
