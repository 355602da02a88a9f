"""The tools that act in the trial's own sandbox or browser."""

from dataclasses import dataclass, field

from harness.case import Suite
from harness.gateway.sources.browser import BrowserSource
from harness.gateway.sources.inside import InsideSource
from harness.upstream import RoutedSource, ToolSource


@dataclass(frozen=True, kw_only=True)
class OwnSources:
    """What belongs to the trial itself and answers the same in every tool mode."""

    inside: InsideSource = field(default_factory=InsideSource)
    browser: BrowserSource = field(default_factory=BrowserSource)

    def before(self, suite: Suite, otherwise: ToolSource) -> ToolSource:
        """`otherwise`, and these for the tools that act in the trial's own sandbox or browser."""
        own: dict[str, ToolSource] = {
            name: self.inside if server.sandbox else self.browser
            for name, server in suite.servers.items()
            if server.sandbox or server.browser
        }
        return RoutedSource(own, otherwise) if own else otherwise
