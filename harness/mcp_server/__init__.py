"""The command line's read verbs and safe actions as an MCP server for coding agents."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.mcp_server.server import serve as serve
    from harness.mcp_server.verbs import VERBS as VERBS
    from harness.mcp_server.verbs import ServerTool as ServerTool
else:
    __getattr__ = lazy_exports(__name__, {"server": ("serve",), "verbs": ("VERBS", "ServerTool")})
