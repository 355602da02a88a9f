"""The `model:` section of a suite, and the words with which a wrong one is refused."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.suite.loading import load_suite
from tests.suite.test_loading import SUITE, write_suite


def test_the_names_of_the_keys_are_secrets_by_themselves(tmp_path: Path) -> None:
    write_suite(tmp_path, SUITE + "model: {api_key: MY_KEY}\nsecrets: [OTHER]\n")
    suite = load_suite(tmp_path, "greeter")
    assert ("OTHER", "MY_KEY") == suite.secrets
    assert suite.model is not None
    assert ("replay", ()) == (suite.model.mode, suite.model.allow)


def test_without_a_section_there_is_no_model(tmp_path: Path) -> None:
    write_suite(tmp_path)
    assert None is load_suite(tmp_path, "greeter").model


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("{base_url: localhost}", "model.base_url"),
        ("{mode: sometimes}", "model.mode"),
        ("{providers: {google: {}}}", "model.providers.google"),
        ("{prices: {m: {input_usd_per_mtok: 1}}}", "model.prices.m.output_usd_per_mtok"),
        ("{prices: {m: {input_usd_per_mtok: -1, output_usd_per_mtok: 1}}}", "model.prices.m.input_usd_per_mtok"),
        ("{key: X}", "model.key"),
    ],
)
def test_a_wrong_section_is_refused_with_the_field(tmp_path: Path, section: str, field: str) -> None:
    write_suite(tmp_path, SUITE + f"model: {section}\n")
    with pytest.raises(InvalidDocument) as refused:
        load_suite(tmp_path, "greeter")
    assert refused.value.field is not None
    assert refused.value.field.startswith(field)
    assert refused.value.line is not None
