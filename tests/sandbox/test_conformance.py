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
_AHEAD = {"docker-ahead": {"prefetch": 2}}
"""Containers that were started before they were asked for are not new ones."""


def _promises() -> Iterator[Any]:
    for kind in (*provider_names(), *_AHEAD):
        name = _name(kind)
        needs = [] if name == "local" else [pytest.mark.docker]
        for check in checks(isolates=isolates(name)):
            if kind in _AHEAD and check.name not in _QUICK:
                continue
            quick = (kind == "local" and check.name not in _LONG) or (kind == "docker" and check.name in _QUICK)
            marks = needs if quick else [*needs, pytest.mark.slow]
            yield pytest.param(kind, check, marks=marks, id=f"{kind}-{check.name}")


def _name(kind: str) -> str:
    return "docker" if kind in _AHEAD else kind


@pytest.fixture(scope="module")
def provider_for() -> Iterator[Callable[[str], SandboxProvider]]:
    """One of each kind for all of its checks."""
    opened: dict[str, SandboxProvider] = {}

    def provider(kind: str) -> SandboxProvider:
        if kind not in opened:
            opened[kind] = open_provider(_name(kind), run=f"conformance-{kind}", **_AHEAD.get(kind, {}))
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
