"""Published conversations, sent as exporters send them, are read back as their own importers read them."""

import json
from pathlib import Path

import pytest

from tests.online.shapes import SHAPES
from tests.online.traffic import measured
from tests.real_data import real_data


@pytest.mark.slow
def test_conversations_of_four_exporters_are_read_back_as_they_were_sent(tmp_path: Path) -> None:
    """The quick form of `python -m tests.online.traffic --sessions 2000`."""
    real_data("tau2")
    told = measured(real_data(), 40, tmp_path / "online")
    print(json.dumps(told))
    found = told["read_back"]
    assert (40, 0) == (found["all"]["found"], found["all"]["extra"])
    for shape in SHAPES:
        assert found[shape]["sent"] == found[shape]["same_calls"]
