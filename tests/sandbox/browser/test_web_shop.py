"""The suite web_shop by the command line: replayed and sealed alike, its pictures kept, scored again without a site."""

import json
import shutil
import struct
from pathlib import Path

import pytest

from tests.walks.conftest import ROOT, Walk

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]
CASES = ("buy-teapot", "gift-by-bicycle", "sold-out-board")
WORDS = ("run", "web_shop", "--jobs", "2", *(word for case in CASES for word in ("--case", case)), "--run-name")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    folder = tmp_path_factory.mktemp("shop")
    for name in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(ROOT / name / "web_shop", folder / name / "web_shop")
    walk = Walk(folder)
    walk(*WORDS, "replayed")
    return walk


def test_replayed_and_sealed_give_the_same_scorecards_and_pictures(shop: Walk) -> None:
    shop(*WORDS, "sealed", "--live", "sealed")

    replayed = shop.scorecards("replayed")
    assert (3, [True] * 3) == (len(replayed), [json.loads(card)["success"] for card in replayed.values()])
    assert replayed == shop.scorecards("sealed")
    assert pictures(shop, "replayed") == pictures(shop, "sealed")


def test_every_page_that_was_looked_at_is_kept_as_a_picture(shop: Walk) -> None:
    for place, content in pictures(shop, "replayed").items():
        assert b"\x89PNG\r\n\x1a\n" == content[:8]
        assert (1280, 800) == struct.unpack(">II", content[16:24]), place
    seen = shop.trial("replayed", "buy-teapot")["pages"]
    assert ["confirmation", "shown-to-all"] == list(seen)
    assert "1001" == seen["confirmation"]["found"]["#number"]["elements"][0]["text"]


def test_a_stored_run_is_scored_again_without_any_browser(shop: Walk) -> None:
    cases = shop.folder / "suites/web_shop/cases.yaml"
    before = cases.read_text()
    cases.write_text(before.replace("text: {equals: Order placed}", "text: {equals: Order refused}"))
    try:
        shop("score", "replayed", env={"DOCKER_HOST": "unix:///nowhere.sock"})
    finally:
        cases.write_text(before)

    (later,) = (shop.folder / "runs/replayed/scores").iterdir()
    cards = {card["case_id"]: card for card in map(json.loads, (later / "scorecards.jsonl").read_text().splitlines())}
    assert [False, True] == [cards[case]["success"] for case in ("buy-teapot", "gift-by-bicycle")]
    (failed,) = [one for one in cards["buy-teapot"]["verdicts"] if one["passed"] is False]
    assert ("confirmation", "'h1': its text is not 'Order refused'") == (failed["check"], failed["reason"])


def test_an_agent_that_does_nothing_fails_and_the_reference_passes(shop: Walk) -> None:
    words = ("--case", "empty-the-cart", "--live", "none")
    assert "1 cases checked, 0 wrong" in shop("case", "check", "web_shop", *words).stderr


def test_the_report_shows_the_pages(shop: Walk) -> None:
    shop("report", "replayed", "--html", "-o", "page.html")

    page = (shop.folder / "page.html").read_text()
    assert 4 == page.count("data:image/png;base64,")


def test_without_containers_a_suite_with_a_browser_says_what_it_needs(shop: Walk) -> None:
    refused = shop("run", "web_shop", "--sandbox", "local", status=2)
    assert "--sandbox" in refused.stderr


def pictures(shop: Walk, run: str) -> dict[str, bytes]:
    folder: Path = shop.folder / "runs" / run / "trials"
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.png"))}
    assert 4 == len(found)
    return found
