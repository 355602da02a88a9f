"""Output without end is counted and thrown away; what a sandbox's user takes of the kernel, the host has."""

from pathlib import Path

import pytest
from docker.models.containers import Container

from harness.sandbox.provider import SandboxProvider
from tests.sandbox.escape.descriptors import HELD_MAX, descriptors_held, descriptors_held_naively
from tests.sandbox.escape.flood import (
    OUTPUT_MAX,
    host_can_still_watch,
    output_held,
    output_held_naively,
    same_user_can_still_watch,
)

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(240)]


def test_output_without_end_is_not_held(provider: SandboxProvider, base_image: str) -> None:
    assert output_held(provider, base_image) <= OUTPUT_MAX


def test_who_holds_all_output_holds_all_of_it(weak: Container) -> None:
    assert output_held_naively(weak) > OUTPUT_MAX


def test_the_host_watches_files_while_a_sandbox_takes_all_it_can(provider: SandboxProvider, base_image: str) -> None:
    assert host_can_still_watch(provider, base_image)


def test_a_program_of_the_same_user_does_not(weak: Container) -> None:
    assert not same_user_can_still_watch(weak)


def test_descriptors_that_come_with_a_message_are_not_taken(provider: SandboxProvider, base_image: str) -> None:
    assert descriptors_held(provider, base_image) <= HELD_MAX


def test_who_takes_them_has_them(weak: Container, door: Path) -> None:
    assert descriptors_held_naively(weak, door) > HELD_MAX
