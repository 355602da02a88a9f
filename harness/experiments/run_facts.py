"""What a run was, as other systems are told."""

from datetime import UTC, datetime
from typing import Final

from harness.results import RunManifest
from harness.values import JsonObject

_MANIFEST: Final = (
    "suite",
    "suite_digest",
    "agent",
    "agent_digest",
    "release",
    "variables",
    "prompts",
    "tool_mode",
    "model_mode",
    "provider",
    "snapshot_digest",
    "tools_digest",
    "harness_version",
    "created",
)


def run_facts(manifest: RunManifest) -> JsonObject:
    """What a run was, by name; what it has not is left out."""
    plain = manifest.model_dump(mode="json", include=set(_MANIFEST))
    return {name: plain[name] for name in _MANIFEST if plain[name] not in (None, {}, "")}


def created_ns(manifest: RunManifest) -> int:
    """Nanoseconds since the epoch; 0 for a manifest of others whose instant cannot be read."""
    try:
        at = datetime.fromisoformat(manifest.created)
        return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000) * 1_000_000)
    except (ValueError, OverflowError, OSError):
        return 0
