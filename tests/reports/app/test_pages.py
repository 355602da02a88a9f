"""What the pages of runs, trials and comparisons show."""

import re
import threading
from html import unescape
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.reports.pages.markup import Markup
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.server import ViewServer
from harness.runs.store.folder import RunFolder
from harness.traces.trajectory import ToolCall
from tests.reports.app.client import entered
from tests.reports.html.runs import HOSTILE, card, manifest, store, trial


def test_runs_are_listed_with_their_figures_the_newest_first(client: httpx.Client) -> None:
    text = client.get("/").text
    assert text.index("/runs/other") < text.index('href="/runs/before"')
    row = re.search(r'<tr data-href="/runs/after".*?</tr>', text, re.DOTALL)
    assert row is not None
    assert "67 %" in row[0]
    assert re.search(r'<abbr title="The agent repeats[^"]*">loop trap</abbr> 2', row[0])


def test_a_filter_is_part_of_the_address(client: httpx.Client) -> None:
    text = client.get("/?agent=v0").text
    assert 'href="/runs/before"' in text
    assert 'href="/runs/after"' not in text
    assert "No run fits" in client.get("/?q=nothing-like-it").text


def test_a_text_is_found_in_the_transcripts_of_all_runs(client: httpx.Client) -> None:
    text = client.get("/search?q=AN+EGG").text
    assert {"after", "before", "other"} <= set(re.findall(r'data-href="/runs/(\w+)/trials/[^"]*#step-\d', text))
    assert "0 steps" in client.get("/search?q=nothing-like-it").text
    assert "<img src=x" not in client.get("/search?q=onerror").text


def test_a_run_shows_its_trials_filtered_sorted_and_paged(client: httpx.Client, project: Path) -> None:
    text = client.get("/runs/after").text
    assert ">4 passed</a>, <a " in text
    assert 6 == text.count('<tr data-href="/runs/after/trials/')
    failed = client.get("/runs/after?result=failed").text
    assert 2 == failed.count('<tr data-href="/runs/after/trials/')
    assert "case-0002 / 1" in failed
    assert text.index("case-0002 / 1") < text.index("case-0000 / 1"), "the failed ones first"
    by_name = client.get("/runs/after?sort=-trial&result=passed").text
    assert ["4", "3", "1", "0"] == re.findall(r'<tr data-href="/runs/after/trials/case-000(\d)', by_name)
    assert 'href="/runs/after?sort=trial&amp;result=passed">trial</a>' in by_name
    assert 'href="/runs/after?result=failed">2 failed' in text


def test_a_trial_shows_what_happened_and_why_it_failed(client: httpx.Client) -> None:
    text = client.get("/runs/after/trials/case-0002/1").text
    for words in (
        "loop trap",
        "repeated call",
        "reason: an egg",
        "look_up",
        "refused: an egg",
        "harness explain after",
    ):
        assert words in text, words
    assert 'href="#step-1"' in text
    assert 'id="step-1"' in text


def test_a_trial_tells_what_was_observed_and_what_stands_beside_it(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    store(runs, "small", trials=2, failing=(1,))
    store(runs, "large", trials=4)
    with RunFolder.create(runs, manifest([("case-0000", 1)], "told", suite="other")) as folder:
        own = trial("case-0000", 1, "an egg", {})
        steps = tuple(one.model_copy(update={"calls": tuple(map(_told, one.calls))}) for one in own.trajectory.steps)
        trajectory = own.trajectory.model_copy(update={"steps": steps})
        changed = own.model_copy(update={"states": {}, "trajectory": trajectory})
        folder.commit(changed, (), card("case-0000", 1, success=True, said="an egg"))
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        asked = [("small", 0), ("small", 1), ("large", 0), ("large", 3), ("told", 0)]
        shown = {f"{run} {at}": client.get(f"/runs/{run}/trials/case-000{at}/1").text for run, at in asked}

    def having(words: str) -> list[str]:
        return [name for name, text in shown.items() if words in text]

    assert ["small 0"] == having('href="/compare/large/small/case-0000/1"')
    assert ["large 0"] == having('href="/compare/small/large/case-0000/1"')
    assert ["small 0", "small 1", "large 0"] == having("Beside the same trial")
    assert ["told 0"] == having("1 call(s) are self-reported")
    assert ["small 0", "small 1", "large 0", "large 3"] == having("End state")
    assert ["small 1"] == having('class="step is-error')


def _told(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"evidence": "self_reported"})


def test_verdicts_of_judges_stand_with_the_steps_they_rest_on(client: httpx.Client) -> None:
    text = client.get("/runs/after/trials/case-0000/1").text
    assert "counter · polite" in text
    assert "no greeting" in text


def test_a_step_is_loaded_whole(tmp_path: Path) -> None:
    store(tmp_path / "runs", "long", trials=1, said="an egg " * 5000)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        page = client.get("/runs/long/trials/case-0000/1").text
        assert len(page) < 100_000
        assert 'data-load="/runs/long/trials/case-0000/1/steps/0"' in page
        part = client.get("/runs/long/trials/case-0000/1/steps/0").text
        assert "an egg " * 5000 in part


def test_two_runs_are_compared_up_to_the_first_divergence(client: httpx.Client) -> None:
    text = client.get("/compare?before=before&after=after").text
    assert ["case-0005"] == re.findall(r'<tr data-href="/compare/before/after/([^/]+)/1"', text)
    fixed = client.get("/compare?before=before&after=after&show=fixed").text
    assert ["case-0000", "case-0001"] == re.findall(
        r'<tr data-href="/compare/before/after/([^/]+)/1\?show=fixed"', fixed
    )
    every = client.get("/compare?run=after&run=before&show=all").text
    found = re.findall(r'<tr data-href="/compare/before/after/([^/]+)/1\?show=all"', every)
    assert (["case-0005", "case-0000", "case-0001"], 6) == (found[:3], len(found))
    pair = client.get("/compare/before/after/case-0000/1").text
    assert 1 == pair.count('id="parting"')
    same = client.get("/compare/before/after/case-0003/1").text
    assert "do the same in every step" in same


def test_figures_of_a_comparison_lead_to_their_trials(client: httpx.Client) -> None:
    text = client.get("/compare?before=before&after=after").text
    links = re.findall(r'<th scope="row"><a href="(/compare\?[^"]*&amp;(?:metric|mode|category)=[^"]*)">', text)
    assert {"metric", "mode", "category"} == {re.findall(r"&amp;(\w+)=", one)[-1] for one in links}
    mode = client.get("/compare?before=before&after=after&mode=loop_trap").text
    assert ["case-0005", "case-0000", "case-0001", "case-0002"] == re.findall(
        r'<tr data-href="/compare/before/after/([^/]+)/1\?mode=loop_trap"', mode
    )
    assert "4 trials with mode loop trap" in mode


def test_a_run_plots_how_long_its_trials_took_also_when_their_files_are_newer_than_its_figures(tmp_path: Path) -> None:
    run = store(tmp_path / "runs", "timed", trials=3)
    for stored in (True, False):
        if not stored:  # as in a folder that was unpacked
            (run.path / ".figures.json").unlink()
        with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
            assert re.search(
                r"<figcaption><a [^>]*sort=-duration[^>]*>Duration</a>.*?\d s in each of 3",
                client.get("/runs/timed").text,
            )
            assert 3 == client.get("/runs/timed?sort=-duration").text.count('<tr data-href="/runs/timed/trials/')


def test_a_list_of_runs_is_sorted_and_two_ticked_runs_are_compared(client: httpx.Client) -> None:
    text = client.get("/?sort=-success&suite=s").text
    assert ["after", "before"] == re.findall(r'name="run" value="(\w+)"', text)
    assert 'action="/compare"' in text
    one = client.get("/compare?run=after")
    assert (200, True) == (one.status_code, "harness compare BEFORE AFTER" in one.text)


def test_a_pair_leads_through_the_list_of_the_comparison_and_back(client: httpx.Client) -> None:
    listed = client.get("/compare?before=before&after=after&show=fixed").text
    assert 'href="/compare/before/after/case-0000/1?show=fixed"' in listed
    page = client.get("/compare/before/after/case-0000/1?show=fixed").text
    assert 'href="/compare/before/after/case-0001/1?show=fixed" rel="next"' in page
    assert 'href="/compare?before=before&amp;after=after&amp;show=fixed" data-up' in page


def test_runs_that_cannot_be_compared_show_why_and_their_conditions(client: httpx.Client) -> None:
    text = client.get("/compare?before=other&after=after").text
    assert "suite digests differ" in text


def test_what_an_agent_wrote_stays_text(client: httpx.Client) -> None:
    for path in ("/runs/hostile", "/runs/hostile/trials/case-0000/1", "/compare?before=hostile&after=hostile"):
        text = client.get(path).text
        assert "<img src=x" not in text, path
        assert "<script>window" not in text, path
        assert not [char for char in HOSTILE if char in text and ord(char) > 0x7E and char != "\ufeff"], path
        assert not set("\x00\x1b\x7f") & set(text), path
    assert "&lt;img src=x" in client.get("/runs/hostile/trials/case-0000/1").text


def test_names_of_runs_in_the_address_stay_text(client: httpx.Client) -> None:
    answer = client.get("/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert 404 == answer.status_code
    assert "<script>alert" not in answer.text


def test_a_damaged_run_is_reported_on_the_page_and_the_others_are_shown(tmp_path: Path) -> None:
    store(tmp_path / "runs", "good", trials=2)
    store(tmp_path / "runs", "torn", trials=2)
    store(tmp_path / "runs", "broken", trials=2)
    (tmp_path / "runs" / "torn" / "manifest.json").write_text("{")
    (tmp_path / "runs" / "broken" / "trials" / "case-0001" / "1" / "scorecard.json").write_text("{}")
    (tmp_path / "runs" / "good" / "trials" / "case-0001" / "1" / "trial.json").write_text("[]")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        text = client.get("/").text
        assert "is not JSON" in text
        assert "its checksum" in text
        assert 409 == client.get("/runs/torn").status_code
        assert 409 == client.get("/runs/broken").status_code
        assert 200 == client.get("/runs/good/trials/case-0000/1").status_code
        damaged = client.get("/runs/good/trials/case-0001/1")
        assert (409, True) == (damaged.status_code, "its checksum" in damaged.text)


def test_a_link_in_a_run_folder_is_not_followed(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs", "linked", trials=1)
    secret = tmp_path / "secret"
    secret.write_text("of the machine")
    place = folder.path / "trials" / "case-0000" / "1" / "trial.json"
    place.unlink()
    place.symlink_to(secret)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        answer = client.get("/runs/linked/trials/case-0000/1")
        assert (409, False) == (answer.status_code, "of the machine" in answer.text)


def test_an_empty_project_says_how_to_begin(tmp_path: Path) -> None:
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        assert "harness run SUITE" in client.get("/").text


def test_a_trial_leads_through_the_list_that_led_to_it_and_back(client: httpx.Client) -> None:
    listed = client.get("/runs/after?result=failed").text
    assert 'href="/runs/after/trials/case-0002/1?result=failed"' in listed
    page = client.get("/runs/after/trials/case-0002/1?result=failed").text
    assert 'href="/runs/after/trials/case-0005/1?result=failed" rel="next"' in page
    assert 'href="/runs/after?result=failed" data-up' in page
    assert 'rel="next"' not in client.get("/runs/after/trials/case-0005/1?result=failed").text


def test_a_browser_has_something_at_once_of_a_page_that_takes_long(tmp_path: Path) -> None:
    ready, asked = threading.Event(), list[str]()

    def slow(ask: Ask) -> Page:
        asked.append(ask.query["of"])
        ready.wait(60)
        return Page(title="slow", body=Markup("<p>all of it</p>"))

    opened = {"Sec-Fetch-Mode": "navigate"}
    with (
        ViewServer(tmp_path, [PageSet(shows={"/": lambda _: Page(title="", body=Markup()), "/slow": slow})]) as server,
        entered(server) as client,
    ):
        first = client.get("/slow?of=a", headers=opened).text
        assert ('http-equiv="refresh"' in first, "all of it" in first) == (True, False)
        ready.set()
        assert "all of it" in client.get("/slow?of=a").text
        assert ["a"] == asked


@pytest.mark.parametrize(
    ("page", "asked"), [("/compare?before=before&after=after", r"way=\w+"), ("/runs/after", r"judged=[\w%]+")]
)
def test_a_figure_in_a_table_leads_to_as_many_trials(client: httpx.Client, page: str, asked: str) -> None:
    found = re.findall(rf'<td class="num"><a href="([^"]*{asked}[^"]*)">(\d+)</a>', client.get(page).text)
    assert found
    for address, count in found:
        text = client.get(unescape(address)).text.partition("Trials</h2>")[2]
        listed = text.partition("</table>")[0].count('<tr data-href="')
        assert (address, int(count)) == (address, listed)
