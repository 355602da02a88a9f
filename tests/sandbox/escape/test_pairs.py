"""What one trial leaves, no other finds: not the one beside it, not the next in the same container."""

import pytest
from docker.models.containers import Container

from harness.sandbox.provider import SandboxProvider
from tests.sandbox.escape.pairs import REMAINS, found_by_another, found_in_one_container
from tests.sandbox.escape.weak import FOLDER

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one after the other"])
@pytest.mark.parametrize("name", REMAINS)
def test_what_a_trial_leaves_no_other_finds(
    provider: SandboxProvider, base_image: str, name: str, at_once: bool
) -> None:
    assert not found_by_another(provider, base_image, name, at_once=at_once)


@pytest.mark.parametrize("name", REMAINS)
def test_it_is_found_where_both_are_in_one_container(weak: Container, name: str) -> None:
    assert found_in_one_container(weak, FOLDER, name)
