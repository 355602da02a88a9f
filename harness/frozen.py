"""The earlier name of `harness.values`: users' checks and metrics import from here; it will be removed in the next
release.
"""

import warnings

from harness.values import Frozen, JsonObject, JsonValue, canonical_json, digest_of, digest_of_text

__all__ = ["Frozen", "JsonObject", "JsonValue", "canonical_json", "digest_of", "digest_of_text"]

warnings.warn(
    "`harness.frozen` is called `harness.values` now: import from there; the old name goes with the next release",
    DeprecationWarning,
    stacklevel=2,
)
