"""Parts of the gateway that many suites do without: they are imported for a suite that needs them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.case import ModelMode, Suite, ToolMode

if TYPE_CHECKING:
    from harness.gateway.model.run_models import RunModels
    from harness.gateway.web.run_hosts import RunHosts


def run_models(suite: Suite, mode: ModelMode | None, secrets: Mapping[str, str]) -> "RunModels | None":
    """None: the suite has no model. Raises UsageError where the key of a provider is missing."""
    if suite.model is None:
        return None
    from harness.gateway.model.run_models import RunModels

    return RunModels(suite.model, mode or suite.model.mode, secrets)


def run_hosts(suite: Suite, mode: ToolMode) -> "RunHosts | None":
    """None: the suite declares no host; their certificates need a library that takes a tenth of a second to import."""
    if not suite.hosts:
        return None
    from harness.gateway.web.run_hosts import RunHosts

    return RunHosts(suite, mode)
