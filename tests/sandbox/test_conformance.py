"""Every provider keeps every promise of the seam: the built-in ones, and those that are installed beside them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.conformance import checks
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import isolates, open_provider, provider_names

_QUICK = {"memory_hog_is_ended", "there_is_no_network", "control_channel_cannot_be_reached", "all_else_is_read_only"}
"""What `make test` asks of a container; the rest is asked of it by `make test-full`."""
_LONG = {
    "too_many_changes_are_said_to_be_incomplete",
    "time_limit_ends_the_whole_tree",
    "slow_program_beside_is_ended_alone",
    "endless_output_ends_at_the_time_limit",
}


def _promises() -> Iterator[Any]:
    for kind in provider_names():
        needs = [] if kind == "local" else [pytest.mark.docker]
        for check in checks(isolates=isolates(kind)):
            quick = (kind == "local" and check.name not in _LONG) or (kind == "docker" and check.name in _QUICK)
            marks = needs if quick else [*needs, pytest.mark.slow]
            yield pytest.param(kind, check, marks=marks, id=f"{kind}-{check.name}")


@pytest.fixture(scope="module")
def provider_for() -> Iterator[Callable[[str], SandboxProvider]]:
    """One of each kind for all of its checks."""
    opened: dict[str, SandboxProvider] = {}

    def provider(kind: str) -> SandboxProvider:
        if kind not in opened:
            opened[kind] = open_provider(kind, run=f"conformance-{kind}")
        return opened[kind]

    yield provider
    for one in opened.values():
        one.close()


@pytest.mark.parametrize(("kind", "check"), list(_promises()))
def test_the_promise_is_kept(
    kind: str,
    check: Check,
    provider_for: Callable[[str], SandboxProvider],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    image = None if kind == "local" else request.getfixturevalue("base_image")
    with ProviderFixture(provider_for(kind), image, tmp_path) as stand:
        check.run(stand)
