"""The tools that act in the trial's own sandbox or browser."""

from dataclasses import dataclass, field

from harness.case import Suite
from harness.gateway.sources.browser import BrowserSource
from harness.gateway.sources.inside import InsideSource
from harness.upstream import RoutedSource, TrialTools


@dataclass(frozen=True, kw_only=True)
class TrialSources:
    """Sources that belong to the trial itself and do not depend on the tool mode."""

    inside: InsideSource = field(default_factory=InsideSource)
    browser: BrowserSource = field(default_factory=BrowserSource)

    def before(self, suite: Suite, otherwise: TrialTools) -> TrialTools:
        """Routes the tools that act in the trial's own sandbox or browser to these sources, and all others to
        `otherwise`.
        """
        sources: dict[str, TrialTools] = {
            name: self.inside if server.sandbox else self.browser
            for name, server in suite.servers.items()
            if server.sandbox or server.browser
        }
        return RoutedSource(sources, otherwise) if sources else otherwise
