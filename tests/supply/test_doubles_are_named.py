"""What stands for a model or a person in this repository says so: suites, agents, labels."""

import json
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from harness.cassettes.cassette import load_cassette
from harness.suite.loading import load_suite

ROOT = Path(__file__).parents[2]
SUITES = sorted(path.parent.name for path in (ROOT / "suites").glob("*/suite.yaml"))
PRICES = ROOT / "harness/suite/prices.yaml"


@pytest.mark.parametrize("name", SUITES)
def test_a_model_that_is_a_double_is_declared_as_one(name: str) -> None:
    model = load_suite(ROOT, name).model
    assert model is None or model.base_url is None or model.double


@pytest.mark.slow
def test_a_double_is_asked_by_no_name_of_a_providers_model() -> None:
    sold = yaml.safe_load(PRICES.read_text(encoding="utf-8"))["models"]
    doubles = [name for name in SUITES if (model := load_suite(ROOT, name).model) is not None and model.double]
    asked = {
        json.loads(recording.arguments).get("model", "")
        for name in doubles
        for path in (ROOT / "cassettes" / name).glob("*.*")
        for recording in load_cassette(path).only("model").recordings
    }
    assert asked
    assert set() == {name for name in asked for one in sold if name == one or fnmatch(name, one.strip("*") + "*")}


def test_labels_of_the_repository_are_those_of_a_sample_annotator() -> None:
    files = sorted(ROOT.glob("suites/*/labels/*.jsonl"))
    assert files
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(line["annotator"].startswith("sample") for line in lines)
