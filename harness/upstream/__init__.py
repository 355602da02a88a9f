"""Clients of real services: HTTP, MCP servers, hosts and models, with their retries, rate limits and budgets.

The gateway calls them on behalf of an agent; the judge, the drift probe and simulated users call them directly. Doubles
of models, for trying out pipelines without a model, are served here, too.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.upstream.budget import Budget as Budget
    from harness.upstream.budget import OutOfBudget as OutOfBudget
    from harness.upstream.budget import budget_of as budget_of
    from harness.upstream.client import clean_header as clean_header
    from harness.upstream.client import open_client as open_client
    from harness.upstream.coding import is_readable as is_readable
    from harness.upstream.langfuse import AnswerLimits as AnswerLimits
    from harness.upstream.langfuse import LangfuseClient as LangfuseClient
    from harness.upstream.langfuse import LangfuseError as LangfuseError
    from harness.upstream.langfuse import batches as batches
    from harness.upstream.langfuse import langfuse_keys as langfuse_keys
    from harness.upstream.langfuse_scores import langfuse_instant as langfuse_instant
    from harness.upstream.langfuse_scores import langfuse_score as langfuse_score
    from harness.upstream.langfuse_scores import rejected_by_langfuse as rejected_by_langfuse
    from harness.upstream.langfuse_scores import send_langfuse_scores as send_langfuse_scores
    from harness.upstream.model.allowed import hosted_field as hosted_field
    from harness.upstream.model.allowed import plain_path as plain_path
    from harness.upstream.model.allowed import plain_query as plain_query
    from harness.upstream.model.allowed import unknown_field as unknown_field
    from harness.upstream.model.answer import ModelAnswer as ModelAnswer
    from harness.upstream.model.busy import hold_where_busy as hold_where_busy
    from harness.upstream.model.cassette import AskMode as AskMode
    from harness.upstream.model.cassette import ModelCassette as ModelCassette
    from harness.upstream.model.cassette import ModelClientOptions as ModelClientOptions
    from harness.upstream.model.client import ModelClient as ModelClient
    from harness.upstream.model.client import ModelReply as ModelReply
    from harness.upstream.model.client import ModelSpend as ModelSpend
    from harness.upstream.model.double import DoubleError as DoubleError
    from harness.upstream.model.double import DoubleReply as DoubleReply
    from harness.upstream.model.double import DoubleRequest as DoubleRequest
    from harness.upstream.model.double import ModelDouble as ModelDouble
    from harness.upstream.model.endpoints import PREFIXES as PREFIXES
    from harness.upstream.model.endpoints import Endpoint as Endpoint
    from harness.upstream.model.endpoints import endpoint_of as endpoint_of
    from harness.upstream.model.exchange import ModelExchange as ModelExchange
    from harness.upstream.model.exchange import exchange_span as exchange_span
    from harness.upstream.model.exchange import recorded_summary as recorded_summary
    from harness.upstream.model.exchange import summary_of as summary_of
    from harness.upstream.model.keys import RequestKeys as RequestKeys
    from harness.upstream.model.pricing import cost_usd as cost_usd
    from harness.upstream.model.pricing import estimated as estimated
    from harness.upstream.model.provider import ProviderUpstream as ProviderUpstream
    from harness.upstream.model.provider import check_keys as check_keys
    from harness.upstream.model.provider import headers_back as headers_back
    from harness.upstream.model.reply_recorder import ReplyRecorder as ReplyRecorder
    from harness.upstream.model.sampling import Sampling as Sampling
    from harness.upstream.model.wire.format import Replied as Replied
    from harness.upstream.pausing import with_pauses as with_pauses
    from harness.upstream.rate import RateLimiter as RateLimiter
    from harness.upstream.reachability import Reachability as Reachability
    from harness.upstream.reachability import external_servers as external_servers
    from harness.upstream.refusal import Refusal as Refusal
    from harness.upstream.resetting import Resets as Resets
    from harness.upstream.resetting import declared_resets as declared_resets
    from harness.upstream.resetting import reset_servers as reset_servers
    from harness.upstream.retrying import RetriedCall as RetriedCall
    from harness.upstream.retrying import retried_text as retried_text
    from harness.upstream.thread import LoopThread as LoopThread
    from harness.upstream.tools.http import MAX_ANSWER_BYTES as MAX_ANSWER_BYTES
    from harness.upstream.tools.http import HttpSource as HttpSource
    from harness.upstream.tools.http import ToolUpstream as ToolUpstream
    from harness.upstream.tools.http import unroutable as unroutable
    from harness.upstream.tools.mcp.servers import ServerStart as ServerStart
    from harness.upstream.tools.mcp.servers import check_program as check_program
    from harness.upstream.tools.registered import registered_listing as registered_listing
    from harness.upstream.tools.routed import RoutedSource as RoutedSource
    from harness.upstream.tools.servers import check_servers as check_servers
    from harness.upstream.tools.servers import filled as filled
    from harness.upstream.tools.servers import needs_services as needs_services
    from harness.upstream.tools.servers import share_services as share_services
    from harness.upstream.tools.servers import upstreams as upstreams
    from harness.upstream.tools.source import Reached as Reached
    from harness.upstream.tools.source import ToolAnswer as ToolAnswer
    from harness.upstream.tools.source import ToolMiss as ToolMiss
    from harness.upstream.tools.source import ToolRequest as ToolRequest
    from harness.upstream.tools.source import TrialTools as TrialTools
    from harness.upstream.tools.upstreams import Upstreams as Upstreams
    from harness.upstream.waiting import Waiting as Waiting
    from harness.upstream.waiting import Waits as Waits
    from harness.upstream.web.address import Address as Address
    from harness.upstream.web.address import HostPort as HostPort
    from harness.upstream.web.address import absolute_address as absolute_address
    from harness.upstream.web.address import address_at as address_at
    from harness.upstream.web.address import is_absolute as is_absolute
    from harness.upstream.web.address import place_of as place_of
    from harness.upstream.web.call import Incoming as Incoming
    from harness.upstream.web.call import WebCall as WebCall
    from harness.upstream.web.call import web_call as web_call
    from harness.upstream.web.live import LiveWeb as LiveWeb
    from harness.upstream.web.source import Sink as Sink
    from harness.upstream.web.source import WebSource as WebSource
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "budget": ("Budget", "OutOfBudget", "budget_of"),
            "client": ("clean_header", "open_client"),
            "coding": ("is_readable",),
            "langfuse_scores": (
                "langfuse_instant",
                "langfuse_score",
                "rejected_by_langfuse",
                "send_langfuse_scores",
            ),
            "langfuse": ("AnswerLimits", "LangfuseClient", "LangfuseError", "batches", "langfuse_keys"),
            "model.allowed": ("hosted_field", "plain_path", "plain_query", "unknown_field"),
            "model.answer": ("ModelAnswer",),
            "model.busy": ("hold_where_busy",),
            "model.client": ("ModelClient", "ModelReply", "ModelSpend"),
            "model.cassette": ("AskMode", "ModelCassette", "ModelClientOptions"),
            "model.double": ("DoubleError", "DoubleReply", "DoubleRequest", "ModelDouble"),
            "model.endpoints": ("Endpoint", "PREFIXES", "endpoint_of"),
            "model.exchange": ("ModelExchange", "exchange_span", "recorded_summary", "summary_of"),
            "model.keys": ("RequestKeys",),
            "model.pricing": ("cost_usd", "estimated"),
            "model.provider": ("ProviderUpstream", "check_keys", "headers_back"),
            "model.reply_recorder": ("ReplyRecorder",),
            "model.sampling": ("Sampling",),
            "model.wire.format": ("Replied",),
            "pausing": ("with_pauses",),
            "rate": ("RateLimiter",),
            "reachability": ("Reachability", "external_servers"),
            "refusal": ("Refusal",),
            "resetting": ("Resets", "declared_resets", "reset_servers"),
            "retrying": ("RetriedCall", "retried_text"),
            "thread": ("LoopThread",),
            "tools.http": ("HttpSource", "MAX_ANSWER_BYTES", "ToolUpstream", "unroutable"),
            "tools.mcp.servers": ("ServerStart", "check_program"),
            "tools.registered": ("registered_listing",),
            "tools.routed": ("RoutedSource",),
            "tools.servers": ("check_servers", "filled", "needs_services", "share_services", "upstreams"),
            "tools.source": ("Reached", "ToolAnswer", "ToolMiss", "ToolRequest", "TrialTools"),
            "tools.upstreams": ("Upstreams",),
            "waiting": ("Waiting", "Waits"),
            "web.address": ("Address", "HostPort", "absolute_address", "address_at", "is_absolute", "place_of"),
            "web.call": ("Incoming", "WebCall", "web_call"),
            "web.live": ("LiveWeb",),
            "web.source": ("Sink", "WebSource"),
        },
    )
