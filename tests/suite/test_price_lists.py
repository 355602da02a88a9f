"""Prices by patterns of models' names: packaged, from a file beside the suite, and of the suite itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.gateway.models.exchange import cost_usd
from harness.gateway.models.formats import Used
from harness.suite.loading import load_suite
from harness.suite.models import Price

OWN = {"input_usd_per_mtok": 7.0, "output_usd_per_mtok": 8.0}


@pytest.fixture
def suite(tmp_path: Path) -> Any:
    """Writes a suite and its list of prices; gives the price of a model."""
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "cases.yaml").write_text(json.dumps([{"id": "c", "task": "x"}]))

    def price_of(model: str, listed: Any = None, **section: Any) -> Price | None:
        agents = {"a": {"command": ["python3"], "files": "agent"}}
        declared = {"agents": agents, "cases": "cases.yaml", "model": section}
        (folder / "suite.yaml").write_text(json.dumps(declared))
        if listed is not None:
            (folder / "prices.yaml").write_text(json.dumps(listed))
        spec = load_suite(tmp_path, "s").model
        assert spec is not None
        return spec.price_of(model)

    return price_of


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("gpt-5-mini-2025-08-07", 0.25),
        ("gpt-5-2025-08-07", 1.25),
        ("gemini-2.5-flash", 0.3),
        ("gemini-2.5-flash-lite", 0.1),
        ("claude-sonnet-4-5-20250929", 3.0),
    ],
)
def test_the_packaged_list_knows_a_model_by_its_pattern(suite: Any, model: str, dollars: float) -> None:
    assert None is suite(model)
    assert dollars == suite(model, prices="packaged").input_usd_per_mtok


def test_a_model_that_no_list_has_stays_without_a_price(suite: Any) -> None:
    assert None is suite("gpt-5.9-vast", prices="packaged")


def test_a_file_stands_before_the_packaged_list(suite: Any) -> None:
    listed = {"as_of": "2026-01", "models": {"*sonnet*": OWN, "own-*": OWN}}
    assert Price(**OWN) == suite("claude-sonnet-4-5", listed, prices="prices.yaml")
    assert Price(**OWN) == suite("own-1", listed, prices="prices.yaml")
    assert suite("gpt-5", listed, prices="prices.yaml") == suite("gpt-5", prices="packaged")


@pytest.mark.parametrize("listed", [{"models": {}}, {"as_of": "2026", "models": {"a": {"input_usd_per_mtok": -1}}}])
def test_a_file_that_is_no_list_is_refused_by_its_name(suite: Any, listed: Any) -> None:
    with pytest.raises(InvalidDocument, match=r"prices\.yaml"):
        suite("gpt-5", listed, prices="prices.yaml")


@pytest.mark.parametrize(("write", "dollars"), [(None, 0.8 + 0.1 * 0.1 + 0.1), (1.25, 0.8 + 0.1 * 0.1 + 0.1 * 1.25)])
def test_what_is_written_to_a_cache_has_a_price_of_its_own(write: float | None, dollars: float) -> None:
    price = Price(
        input_usd_per_mtok=1.0,
        output_usd_per_mtok=0.0,
        cached_input_usd_per_mtok=0.1,
        cache_write_usd_per_mtok=write,
    )
    used = Used(input=1_000_000, output=0, cache_read=100_000, cache_write=100_000)
    assert pytest.approx(dollars) == cost_usd(price, used)
