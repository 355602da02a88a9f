"""The gateway: the only door out of a sandbox.

This module holds the values that others pass in and get back, and imports no server; `harness.gateway.gateway` is the
gateway itself.
"""

from harness.gateway.contract import ServiceOpener, SessionRecord, SessionRequest, ToolMode

__all__ = ["ServiceOpener", "SessionRecord", "SessionRequest", "ToolMode"]
