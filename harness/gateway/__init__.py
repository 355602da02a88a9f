"""The gateway: the only way out of a sandbox.

This module holds the values that others pass in and get back, and imports no server; `harness.gateway.gateway` is the
gateway itself.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.gateway.budget import Budget as Budget
    from harness.gateway.budget import OutOfBudget as OutOfBudget
    from harness.gateway.budget import budget_of as budget_of
    from harness.gateway.client import open_client as open_client
    from harness.gateway.contract import ServiceOpener as ServiceOpener
    from harness.gateway.contract import SessionRecord as SessionRecord
    from harness.gateway.contract import SessionRequest as SessionRequest
    from harness.gateway.contract import ToolMode as ToolMode
    from harness.gateway.gateway import Gateway as Gateway
    from harness.gateway.incoming import Refusal as Refusal
    from harness.gateway.model.client import AskMode as AskMode
    from harness.gateway.model.client import ModelCassette as ModelCassette
    from harness.gateway.model.client import ModelClient as ModelClient
    from harness.gateway.model.client import ModelClientOptions as ModelClientOptions
    from harness.gateway.model.client import ModelSpend as ModelSpend
    from harness.gateway.model.environment import model_environment as model_environment
    from harness.gateway.model.run_models import check_keys as check_keys
    from harness.gateway.model.sampling import Sampling as Sampling
    from harness.gateway.model.wire.format import Replied as Replied
    from harness.gateway.rate import RateLimiter as RateLimiter
    from harness.gateway.reaching import Upstreams as Upstreams
    from harness.gateway.resetting import declared_resets as declared_resets
    from harness.gateway.resetting import reset_servers as reset_servers
    from harness.gateway.session import Session as Session
    from harness.gateway.sources.http import ToolUpstream as ToolUpstream
    from harness.gateway.sources.http import unroutable as unroutable
    from harness.gateway.sources.mcp.servers import ServerStart as ServerStart
    from harness.gateway.sources.mcp.servers import check_program as check_program
    from harness.gateway.sources.reachability import external_servers as external_servers
    from harness.gateway.sources.source import ToolAnswer as ToolAnswer
    from harness.gateway.sources.source import ToolMiss as ToolMiss
    from harness.gateway.sources.source import ToolRequest as ToolRequest
    from harness.gateway.sources.source import ToolSource as ToolSource
    from harness.gateway.thread import LoopThread as LoopThread
    from harness.gateway.toolbox import Toolbox as Toolbox
    from harness.gateway.user import Heard as Heard
    from harness.gateway.user import User as User
    from harness.gateway.web.address import absolute_address as absolute_address
    from harness.gateway.web.call import WebCall as WebCall
    from harness.gateway.web.live import LiveWeb as LiveWeb
    from harness.gateway.web.run_hosts import allowed_hosts as allowed_hosts
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "user": (
                "User",
                "Heard",
            ),
            "budget": ("Budget", "OutOfBudget", "budget_of"),
            "client": ("open_client",),
            "contract": ("ServiceOpener", "SessionRecord", "SessionRequest", "ToolMode"),
            "gateway": ("Gateway",),
            "incoming": ("Refusal",),
            "model.client": ("AskMode", "ModelCassette", "ModelClient", "ModelClientOptions", "ModelSpend"),
            "model.environment": ("model_environment",),
            "model.run_models": ("check_keys",),
            "model.sampling": ("Sampling",),
            "model.wire.format": ("Replied",),
            "rate": ("RateLimiter",),
            "reaching": ("Upstreams",),
            "resetting": ("declared_resets", "reset_servers"),
            "session": ("Session",),
            "sources.http": ("ToolUpstream", "unroutable"),
            "sources.mcp.servers": ("ServerStart", "check_program"),
            "sources.reachability": ("external_servers",),
            "sources.source": ("ToolAnswer", "ToolMiss", "ToolRequest", "ToolSource"),
            "thread": ("LoopThread",),
            "toolbox": ("Toolbox",),
            "web.address": ("absolute_address",),
            "web.call": ("WebCall",),
            "web.live": ("LiveWeb",),
            "web.run_hosts": ("allowed_hosts",),
        },
    )
