"""A database that an agent wrote harms nobody who asks it as the harness does, and does harm who trusts it."""

from pathlib import Path

import pytest

from harness.sandbox.provider import SandboxProvider
from tests.sandbox.escape.databases import HARMS, harmed, harmed_trustingly

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.docker
@pytest.mark.parametrize("harm", HARMS)
def test_a_database_harms_nobody(provider: SandboxProvider, base_image: str, tmp_path: Path, harm: str) -> None:
    assert harmed(provider, base_image, harm, tmp_path) is None


@pytest.mark.parametrize("harm", HARMS)
def test_the_same_database_harms_who_trusts_it(tmp_path: Path, harm: str) -> None:
    assert harmed_trustingly(harm, tmp_path) is not None
