"""A web app over all runs of a project, for this machine alone: `harness view`."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.view.serving.server import ViewServer as ViewServer
else:
    __getattr__ = lazy_exports(__name__, {"serving.server": ("ViewServer",)})
