"""Which runs repeat themselves, so that one trial that is worse decides."""

from collections.abc import Callable

import pytest

from harness.reports.compare import is_replayed
from harness.runs.store.manifest import RunManifest


@pytest.mark.parametrize(
    ("tools", "model", "replayed"),
    [
        ("replay", "none", True),
        ("sealed", "replay", True),
        ("live", "replay", False),
        ("replay", "live", False),
        ("live", "live", False),
    ],
)
def test_only_a_run_whose_tools_and_model_are_replayed_repeats_itself(
    manifest: Callable[..., RunManifest], tools: str, model: str, replayed: bool
) -> None:
    assert replayed == is_replayed(manifest(tool_mode=tools, model_mode=model))
