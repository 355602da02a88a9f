"""Published conversations, sent as exporters send them, are read back as their own importers read them."""

import json
from pathlib import Path

import pytest

from qa.production.traffic import measured
from tests.production.shapes import SHAPES
from tests.real_data import real_data


@pytest.mark.slow
def test_conversations_of_several_exporters_are_read_back_whole(tmp_path: Path) -> None:
    """The quick form of `python -m qa.production.traffic --sessions 2000`."""
    real_data("tau2")
    told = measured(real_data(), 42, tmp_path / "online", batch=10)
    print(json.dumps(told))
    found = told["read_back"]
    assert told["cut"] > 0
    assert told["requests"] * 10 > 1.05 * told["spans"]  # some were sent twice
    assert (42, 0) == (found["all"]["found"], found["all"]["extra"])
    for shape in SHAPES:
        assert found[shape]["sent"] == found[shape]["whole"]
