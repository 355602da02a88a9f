"""The page as a file: what is in it, what cannot get out of it, and that it needs nothing else."""

import base64
import hashlib
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ResultsError
from harness.reports.html.data import embedded, trial_view
from harness.reports.html.page import html_report, write_html
from harness.runs.store.folder import RunFolder
from tests.reports.html.reading import Page
from tests.reports.html.runs import HOSTILE, card, judge, mocked_and_live, store, trial

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(_JSON)
def test_embedded_data_is_the_data_and_no_markup(value: object) -> None:
    text = embedded(value)
    assert value == json.loads(text)
    assert not re.search(r"[<>&\u2028\u2029]|[^\x20-\x7e]", text)


def test_what_is_no_number_is_embedded_as_a_word() -> None:
    assert {"a": ["nan", 1.5, "-inf"]} == json.loads(embedded({"a": [math.nan, 1.5, -math.inf]}))


def test_hostile_words_end_no_element_and_begin_none(tmp_path: Path) -> None:
    harmless = Page(html_report(judge(store(tmp_path / "a", said="an egg"))))
    hostile = Page(html_report(judge(store(tmp_path / "b", said=HOSTILE, result=HOSTILE), HOSTILE)))
    assert harmless.names == hostile.names
    assert HOSTILE == hostile.data["trial-0-0"]["steps"][0]["message"]["text"]
    assert HOSTILE == hostile.data["trial-0-0"]["steps"][1]["calls"][0]["result"]["text"]
    assert HOSTILE == hostile.data["trial-0-0"]["judged"][0]["why"]["text"]


def test_the_policy_allows_the_pages_own_style_and_program_and_nothing_else(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path)))

    def digest(texts: list[str]) -> str:
        assert 1 == len(texts)
        return "'sha256-" + base64.b64encode(hashlib.sha256(texts[0].encode()).digest()).decode() + "'"

    policy = next(value for value in page.value_of("meta", "content") if "default-src" in value)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {digest(page.styles)}",
        f"script-src {digest(page.programs)}",
        "base-uri 'none'",
    ]


def test_the_page_refers_to_nothing_outside_and_parses_no_markup(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path)))
    own = page.styles[0] + page.programs[0]
    assert ["http://www.w3.org/2000/svg"] == re.findall(r"https?://[^\s\"')]+", own)
    assert [] == re.findall(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\bfetch\(|XMLHttp|\bimport\b|url\(",
        own,
    )
    assert [] == [value for _, name, value in page.attributes if name in ("src", "style") or name.startswith("on")]
    assert all(value.startswith("#") for value in page.value_of("a", "href"))


def test_every_trial_is_in_the_page_under_its_place(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path, trials=4)))
    rows = page.data["report"]["runs"][0]["rows"]
    assert [f"case-{number:04d}" for number in range(4)] == [row["id"] for row in rows]
    assert [f"trials/{row['id']}/1" for row in rows] == [page.data[f"trial-0-{at}"]["folder"] for at in range(4)]
    assert ["loop_trap"] == rows[2]["modes"]
    assert ["order: reason: an egg"] == rows[2]["reasons"]


def test_long_integers_keep_all_their_digits(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path)))
    arguments = page.data["trial-0-0"]["steps"][1]["calls"][0]["args"]["json"]
    assert '{"query":"an egg","at":12345678901234567890}' == arguments


def test_a_long_text_is_cut_and_its_length_told(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path, trials=1, result="x" * 100_000)))
    result = page.data["trial-0-0"]["steps"][1]["calls"][0]["result"]
    assert (6000, 100_000) == (len(result["text"]), result["of"])


def test_a_trial_that_died_of_a_service_holds_the_end_of_its_log() -> None:
    own = trial("a", 1, "no", {}).model_copy(update={"service_logs": {"desk": "x" * 9000 + "out of paper", "mute": ""}})
    logs = json.loads(embedded(trial_view(own, card("a", 1, success=False, said="no"), 400_000)))["services"]
    assert {"text": ""} == logs["mute"]
    assert (6000, 9012, True) == (len(logs["desk"]["text"]), logs["desk"]["of"], logs["desk"]["end"])
    assert logs["desk"]["text"].endswith("out of paper")


def test_the_more_there_is_in_a_trial_the_shorter_are_its_texts() -> None:
    own = trial("a", 1, "y" * 5000, {"long": "x" * 50_000})
    view = trial_view(own, card("a", 1, success=True, said="no"), 6_000)
    assert 6_000 >= len(embedded(view))
    assert {"json": '{"long":"' + "x" * 391, "of": 50_011} == json.loads(embedded(view))["steps"][1]["calls"][0][
        "result"
    ]


def test_two_runs_stand_beside_each_other_with_what_can_be_said_of_the_change(tmp_path: Path) -> None:
    before, after = store(tmp_path, "before", agent="v1"), store(tmp_path, "after", agent="v2")
    page = Page(html_report(after, before))
    assert ["after", "before"] == [run["run"] for run in page.data["report"]["runs"]]
    assert "no case changed" == page.data["report"]["comparison"]["verdict"]
    assert {f"trial-{run}-{place}" for run in (0, 1) for place in range(6)} <= set(page.data)


def test_a_live_run_beside_a_mocked_one_says_what_differs_and_why(tmp_path: Path) -> None:
    mocked, live = mocked_and_live(tmp_path)
    beside = Page(html_report(live, mocked)).data["report"]["comparison"]["divergence"]
    assert ("mock", "live", 1.0) == (beside["mocked"], beside["live"], beside["success"]["before"])
    assert beside["interval"]["low"] < beside["success"]["difference"] < beside["interval"]["high"]
    assert [("case-0001", "tool: look_up"), ("case-0004", "cannot tell")] == [
        (one["case_id"], one["cause"]) for one in beside["cases"]
    ]


def test_what_judges_said_stands_by_rubric_and_with_its_reasons_at_each_trial(tmp_path: Path) -> None:
    data = Page(html_report(judge(store(tmp_path / "runs", trials=3)))).data
    (table,) = data["report"]["runs"][0]["judged"]
    assert ("counter@1 rules, prompt criterion@1", "judged by counter") == (table["key"], table["title"])
    assert ["criterion", "rate", "corrected", "pass", "fail", "n/a", "no answer", "points", ""] == table["heads"]
    assert [
        ["order", "100 %", "", "", "", "", "", "weight 3", ""],
        ["  complete", "100 %", "-", "1", "-", "-", "1", "1", "critical, uncert."],
        ["talk", "0 %", "", "", "", "", "", "weight 1", ""],
        ["  polite", "0 %", "-", "-", "1", "1", "-", "1", "uncert."],
    ] == table["rows"]
    assert table["notes"][0].startswith("score 75 %; no critical failure in 100 %")
    assert table["notes"][0].endswith("2 trials, coverage 75 %")
    assert any(note.startswith("uncert.: complete, polite: not certified") for note in table["notes"])
    assert [("complete", "pass", [2]), ("polite", "fail", [2])] == [
        (one["criterion"], one["answer"], one["steps"]) for one in data["trial-0-0"]["judged"]
    ]
    assert {"text": "no greeting"} == data["trial-0-0"]["judged"][1]["why"]
    assert "answered prose. no greeting" == data["trial-0-1"]["judged"][0]["why"]["text"]
    assert "judged" not in data["trial-0-2"]


def test_runs_of_unlike_suites_are_shown_but_not_compared(tmp_path: Path) -> None:
    page = Page(html_report(store(tmp_path, "after", suite_digest="other"), store(tmp_path, "before")))
    assert "suite digests differ" in page.data["report"]["comparison"]["refused"]


def test_failure_modes_are_counted_in_the_runs_beside_this_one(tmp_path: Path) -> None:
    store(tmp_path, "older", created="2026-01-01T00:00:00Z", trials=3)
    store(tmp_path, "foreign", suite="another")
    damaged = store(tmp_path, "damaged", created="2026-01-02T00:00:00Z")
    (damaged.path / "trials" / "case-0000" / "1" / "scorecard.json").write_text("{}")
    releases = Page(html_report(store(tmp_path))).data["report"]["releases"]
    assert [("older", {"loop_trap": 1}), ("tour", {"loop_trap": 2})] == [
        (run["run"], run["modes"]) for run in releases["runs"]
    ]
    assert ["damaged"] == releases["unreadable"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs")
    first = write_html(folder, tmp_path / "1.html").read_bytes()
    assert first == write_html(RunFolder.open(folder.path), tmp_path / "2.html").read_bytes()


def test_a_damaged_trial_is_named_and_no_page_is_left(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs")
    (folder.path / "trials" / "case-0001" / "1" / "trial.json").write_text("{}")
    with pytest.raises(ResultsError, match=r"case-0001/1/trial\.json"):
        write_html(folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
