"""What a program leaves for the host to read back deceives nobody here, and does deceive who does not expect it."""

from pathlib import Path

import pytest

from harness.sandbox.provider import SandboxProvider
from tests.sandbox.escape.reading import TRICKS, deceived, deceived_naively

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.docker
@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_does_not_deceive_the_host(
    provider: SandboxProvider, base_image: str, tmp_path: Path, trick: str
) -> None:
    assert deceived(provider, base_image, trick, tmp_path) is None


@pytest.mark.parametrize("trick", TRICKS)
def test_the_same_trick_deceives_who_does_not_expect_it(tmp_path: Path, trick: str) -> None:
    assert deceived_naively(trick, tmp_path) is not None
