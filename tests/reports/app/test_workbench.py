"""The workbench: the budget is shown before anything is sent, verdicts stand side by side, and a change is saved."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from harness.cli.view import app_pages
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import load_rubric
from harness.judging.settings import JudgeSettings
from harness.reports.pages.server import ViewServer
from harness.runs.judging import JudgeRequest, judge_run
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from qa.doubles.rule_model import RuleModel
from tests.judging.verbs.stored import TOLD, WRONG, label_all, mind, store
from tests.reports.app.client import entered

FORM = "/workbench?run=night&rubric=prices&criterion=grounded"


@pytest.fixture
def model() -> Iterator[RuleModel]:
    with RuleModel(mind()) as own:
        yield own


@pytest.fixture
def shop(tmp_path: Path, model: RuleModel) -> Path:
    """People labelled everything; the prompt in use says that whatever is polite is right, and half of it is wrong."""
    folder = store(tmp_path, cases=6)
    label_all(tmp_path, folder, "ann")
    rubrics = tmp_path / "suites" / "shop" / "rubrics"
    rubrics.mkdir(parents=True)
    shutil.move(tmp_path / "prices.yaml", rubrics / "prices.yaml")
    PromptRegistry(tmp_path).write("judge", "7", f"Judge.\n{WRONG}\n")
    PromptRegistry(tmp_path).set_label("judge", "production", "7")
    settings = {
        "model": model.name,
        "base_url": model.url,
        "prices": {model.name: {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}},
    }
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(settings))
    judge_run(
        tmp_path,
        folder,
        JudgeRequest(
            rubric=load_rubric("prices", tmp_path / "suites" / "shop"),
            prompt=PromptRegistry(tmp_path).get("judge"),
            settings=JudgeSettings(model=model.name, base_url=model.url),
        ),
    )
    return tmp_path


@pytest.fixture
def client(shop: Path) -> Iterator[httpx.Client]:
    with ViewServer(shop, app_pages()) as server, entered(server) as own:
        yield own


def _fields(text: str) -> dict[str, str]:
    """The fields of the form as a browser would send them."""
    found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))
    found |= {
        name: value.removeprefix("\n") for name, value in re.findall(r'<textarea name="(\w+)"[^>]*>([^<]*)<', text)
    }
    boxes = re.findall(r'<input type="checkbox" name="(trial\.\d+)" value="([^"]+)" checked', text)
    return found | dict(boxes)


def _drafted(client: httpx.Client, **changes: str) -> httpx.Response:
    return client.post("/workbench", data=_fields(client.get(FORM).text) | changes)


def _ended(client: httpx.Client, path: str) -> str:
    for _ in range(200):
        text = client.get(path).text
        assert "The try was interrupted" not in text
        if 'http-equiv="refresh"' not in text:
            return text
    raise AssertionError("the try did not end")


def test_the_form_has_what_is_in_use_and_the_labelled_trials_chosen(client: httpx.Client) -> None:
    assert "/workbench?run=night&amp;rubric=prices&amp;criterion=grounded" in client.get("/workbench?run=night").text
    text = client.get(FORM).text
    fields = _fields(text)
    assert f"Judge.\n{WRONG}\n" == fields["prompt_text"]
    assert "The price is the one that a result gives." == fields["statement"]
    assert 6 == sum(name.startswith("trial.") for name in fields)


def test_the_budget_is_shown_before_anything_is_sent(client: httpx.Client, model: RuleModel) -> None:
    before = model.asked.total()
    page = _drafted(client)
    assert (200, before) == (page.status_code, model.asked.total())
    assert "Send 6 questions" in page.text
    assert re.search(r"cost, about</dt><dd>0\.\d+ USD", page.text)


def test_a_change_is_tried_and_its_verdicts_stand_beside_peoples_and_those_in_use(
    client: httpx.Client, model: RuleModel, shop: Path
) -> None:
    before = list(read_judgements(shop / "runs" / "night", "prices"))
    page = _drafted(client, prompt_text=f"Judge.\n{TOLD}\n")
    assert "+Rule: a price that no result gives is wrong." in page.text
    client.post(page.url.path + "/start", data={"tokens": "100000", "usd": "1"})
    text = _ended(client, page.url.path)
    assert re.search(r"This draft, against people</h2><p class=\"value\">6 of 6", text)
    assert re.search(r"In use, on the same trials</h2><p class=\"value\">3 of 6", text)
    assert 3 == text.count("not as people")
    assert before == list(read_judgements(shop / "runs" / "night", "prices")), "the run keeps its verdicts"
    assert not (shop / "cassettes").exists() or not list((shop / "cassettes").rglob("*draft*"))
    with ViewServer(shop, app_pages()) as server, entered(server) as other:
        assert "6 of 6" in other.get(page.url.path).text, "it is kept when the app ends"
        assert page.url.path in other.get("/workbench").text


def test_a_budget_ends_a_try_with_the_verdicts_so_far(client: httpx.Client, shop: Path) -> None:
    (shop / "judge.yaml").write_text((shop / "judge.yaml").read_text() + "in_flight: 1\n")
    page = _drafted(client, prompt_text=f"Judge.\n{TOLD}\n")
    client.post(page.url.path + "/start", data={"tokens": "1"})
    text = _ended(client, page.url.path)
    assert "tokens spent" in text
    assert "1 of 1" in text


def test_a_prompt_is_saved_as_a_candidate_and_what_is_in_use_stays(client: httpx.Client, shop: Path) -> None:
    page = _drafted(client, prompt_text=f"Judge.\n{TOLD}\n")
    client.post(page.url.path + "/start", data={"tokens": "100000"})
    _ended(client, page.url.path)
    saved = client.post(page.url.path + "/save", data={})
    assert "Saved as judge@8, label candidate" in saved.text
    registry = PromptRegistry(shop)
    assert ({"candidate": "8", "production": "7"}) == registry.labels("judge")
    assert f"Judge.\n{TOLD}\n" == registry.get("judge", "candidate").text


@pytest.mark.parametrize(("keeps", "version"), [({"keeps_labels": "yes"}, "1"), ({}, "2")])
def test_a_criterion_is_saved_in_a_rubric_of_its_own(
    client: httpx.Client, shop: Path, keeps: dict[str, str], version: str
) -> None:
    page = _drafted(client, statement="The price is one of those that the results give.")
    saved = client.post(page.url.path + "/save", data=keeps)
    assert "--rubric prices.candidate" in saved.text
    rubric = load_rubric("prices.candidate", shop / "suites" / "shop")
    own = rubric.criterion("grounded")
    assert own is not None
    assert ("The price is one of those that the results give.", version) == (own.statement, own.version)
    assert "1" == getattr(load_rubric("prices", shop / "suites" / "shop").criterion("grounded"), "version", None)
    again = _drafted(client, statement="Another price.")
    client.post(again.url.path + "/save", data={})
    assert own == load_rubric("prices.candidate", shop / "suites" / "shop").criterion("grounded"), "not overwritten"


def test_what_cannot_be_tried_is_refused(client: httpx.Client, shop: Path) -> None:
    fields = _fields(client.get(FORM).text)
    none_chosen = {name: value for name, value in fields.items() if not name.startswith("trial.")}
    for data in (
        none_chosen,
        fields | {"criterion": "none"},
        fields | {"rubric": "../x"},
        fields | {"prompt_text": ""},
    ):
        assert 409 == client.post("/workbench", data=data).status_code
    assert 409 == client.post("/workbench", data=fields | {"trial.0": "case-77/1"}).status_code
    page = _drafted(client)
    for bad in ({}, {"tokens": "0"}, {"tokens": "x"}, {"tokens": "10", "usd": "nan"}, {"tokens": "10", "usd": "-1"}):
        assert 409 == client.post(page.url.path + "/start", data=bad).status_code
    assert 409 == client.post(page.url.path + "/save", data={}).status_code, "nothing was changed"
    assert not (shop / "suites" / "shop" / "rubrics" / "prices.candidate.yaml").exists()
    for path in ("/workbench/..%2f..%2fx", "/workbench/000000000000", "/workbench?run=night&rubric=prices&criterion=x"):
        assert 404 == client.get(path).status_code


def test_without_a_model_the_page_says_how_to_name_one(
    client: httpx.Client, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (shop / "judge.yaml").unlink()
    answer = _drafted(client)
    assert (409, True) == (answer.status_code, "judge.yaml" in answer.text)


def test_a_provider_that_fails_is_reported_on_the_page(client: httpx.Client, shop: Path) -> None:
    page = _drafted(client)
    settings = yaml.safe_load((shop / "judge.yaml").read_text())
    (shop / "judge.yaml").write_text(yaml.safe_dump(settings | {"base_url": "http://127.0.0.1:9/v1", "tries": 1}))
    client.post(page.url.path + "/start", data={"tokens": "100000"})
    assert "cannot be reached" in _ended(client, page.url.path)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_another_page_spends_nothing(client: httpx.Client, model: RuleModel, origin: str) -> None:
    page = _drafted(client)
    before = model.asked.total()
    for path in ("/workbench", page.url.path + "/start", page.url.path + "/save"):
        assert 403 == client.post(path, data={"tokens": "1000"}, headers={"Origin": origin}).status_code
    assert before == model.asked.total()


def test_a_damaged_draft_is_reported(client: httpx.Client, shop: Path) -> None:
    page = _drafted(client)
    (shop / "runs" / ".workbench" / f"{page.url.path.rpartition('/')[2]}.json").write_text('{"id": 1}')
    answer = client.get(page.url.path)
    assert (409, True) == (answer.status_code, "field" in answer.text)
    assert 200 == client.get("/workbench").status_code
    assert "night" in RunFolder.open(shop / "runs" / "night").manifest.run


def test_no_draft_is_written_through_a_link(client: httpx.Client, shop: Path, tmp_path: Path) -> None:
    """An archive of runs that was unpacked may hold one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (shop / "runs" / ".workbench").symlink_to(outside)
    refused = _drafted(client)

    assert 409 == refused.status_code
    assert "a link" in refused.text
    assert [] == list(outside.iterdir())
