"""Production: an OTLP receiver, the store of sessions, their scores, and what changed in them."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.online.engine import SpanEngine as SpanEngine
    from harness.online.engine import TraceRow as TraceRow
    from harness.online.layout import StoreLayout as StoreLayout
    from harness.online.receiver import Receiver as Receiver
    from harness.online.receiver import ReceiverOptions as ReceiverOptions
    from harness.online.record import StoredRecord as StoredRecord
    from harness.online.scores import Sampling as Sampling
    from harness.online.scores import SessionScore as SessionScore
    from harness.online.scores import ToolFacts as ToolFacts
    from harness.online.session import Session as Session
    from harness.online.session import SessionRow as SessionRow
    from harness.online.store import DEFAULT_FOLDER as DEFAULT_FOLDER
    from harness.online.store import SessionStore as SessionStore
    from harness.online.tokens import Tokens as Tokens
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "engine": ("SpanEngine", "TraceRow"),
            "layout": ("StoreLayout",),
            "receiver": ("Receiver", "ReceiverOptions"),
            "record": ("StoredRecord",),
            "scores": ("Sampling", "SessionScore", "ToolFacts"),
            "session": ("Session", "SessionRow"),
            "store": ("DEFAULT_FOLDER", "SessionStore"),
            "tokens": ("Tokens",),
        },
    )
