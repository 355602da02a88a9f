"""What stored results were evaluated by in another version than the one that is installed."""

from collections.abc import Mapping

from harness.score.failures import built_in_versions


def outdated(scored_by: Mapping[str, str], current: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """`detector:loop_trap 3, now 4` for each name of `current` (default: the built-in detectors) that differs."""
    if current is None:
        current = {f"detector:{name}": version for name, version in built_in_versions().items()}
    return tuple(
        f"{name} {scored_by.get(name, 'absent')}, now {version}"
        for name, version in sorted(current.items())
        if scored_by.get(name) != version
    )
