"""Production: an OTLP receiver, the store of sessions, their scores, and what changed in them."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.online.judging import JudgingRequest as JudgingRequest
    from harness.online.judging import SessionsJudged as SessionsJudged
    from harness.online.judging import judge_sessions as judge_sessions
    from harness.online.receiver import Receiver as Receiver
    from harness.online.receiver import ReceiverOptions as ReceiverOptions
    from harness.online.receiving.tokens import AccessTokens as AccessTokens
    from harness.online.record import StoredRecord as StoredRecord
    from harness.online.scores.facts import signal_words as signal_words
    from harness.online.scores.outbox import ScoreOutbox as ScoreOutbox
    from harness.online.scores.scores import SessionSampling as SessionSampling
    from harness.online.scores.scores import SessionScore as SessionScore
    from harness.online.scores.scores import ToolFacts as ToolFacts
    from harness.online.scores.scores import latest_scores as latest_scores
    from harness.online.scores.senders import langfuse_sender as langfuse_sender
    from harness.online.scores.senders import otlp_logs_sender as otlp_logs_sender
    from harness.online.scoring import ScoringRequest as ScoringRequest
    from harness.online.scoring import ScoringRound as ScoringRound
    from harness.online.scoring import score_sessions as score_sessions
    from harness.online.sending import left_out_of as left_out_of
    from harness.online.sending import post_otlp as post_otlp
    from harness.online.sending import refused_in as refused_in
    from harness.online.sending import trial_requests as trial_requests
    from harness.online.sending import trial_session as trial_session
    from harness.online.session import Session as Session
    from harness.online.session import SessionRow as SessionRow
    from harness.online.session import session_origin as session_origin
    from harness.online.session_scorer import SessionScorer as SessionScorer
    from harness.online.settings import ClickHouseSettings as ClickHouseSettings
    from harness.online.settings import OnlineSettings as OnlineSettings
    from harness.online.settings import WatchSettings as WatchSettings
    from harness.online.settings import online_settings as online_settings
    from harness.online.storage.engine import SpanEngine as SpanEngine
    from harness.online.storage.layout import StoreLayout as StoreLayout
    from harness.online.storage.trace_row import TraceRow as TraceRow
    from harness.online.store import DEFAULT_FOLDER as DEFAULT_FOLDER
    from harness.online.store import SessionStore as SessionStore
    from harness.online.trends.changes import change_words as change_words
    from harness.online.trends.charts import Shift as Shift
    from harness.online.trends.daily import DailyReport as DailyReport
    from harness.online.trends.daily import DayRate as DayRate
    from harness.online.trends.daily import daily_report as daily_report
    from harness.online.trends.days import DayFacts as DayFacts
    from harness.online.trends.incidents import DriftNear as DriftNear
    from harness.online.trends.incidents import FacetChange as FacetChange
    from harness.online.trends.incidents import Incident as Incident
    from harness.online.trends.incidents import accept_incident as accept_incident
    from harness.online.trends.incidents import read_incidents as read_incidents
    from harness.online.trends.watch import ChartCheck as ChartCheck
    from harness.online.trends.watch import watch_shifts as watch_shifts
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "trends.changes": ("change_words",),
            "trends.charts": ("Shift",),
            "trends.daily": (
                "DailyReport",
                "DayRate",
                "daily_report",
            ),
            "trends.days": ("DayFacts",),
            "storage.engine": ("SpanEngine",),
            "storage.trace_row": ("TraceRow",),
            "judging": (
                "JudgingRequest",
                "SessionsJudged",
                "judge_sessions",
            ),
            "storage.layout": ("StoreLayout",),
            "scores.facts": ("signal_words",),
            "scores.outbox": ("ScoreOutbox",),
            "scores.senders": (
                "langfuse_sender",
                "otlp_logs_sender",
            ),
            "receiver": (
                "Receiver",
                "ReceiverOptions",
            ),
            "record": ("StoredRecord",),
            "scores.scores": (
                "SessionSampling",
                "SessionScore",
                "ToolFacts",
                "latest_scores",
            ),
            "scoring": (
                "ScoringRound",
                "ScoringRequest",
                "score_sessions",
            ),
            "sending": (
                "left_out_of",
                "post_otlp",
                "refused_in",
                "trial_requests",
                "trial_session",
            ),
            "session": (
                "Session",
                "SessionRow",
                "session_origin",
            ),
            "session_scorer": ("SessionScorer",),
            "settings": (
                "ClickHouseSettings",
                "OnlineSettings",
                "WatchSettings",
                "online_settings",
            ),
            "store": (
                "DEFAULT_FOLDER",
                "SessionStore",
            ),
            "receiving.tokens": ("AccessTokens",),
            "trends.incidents": (
                "DriftNear",
                "FacetChange",
                "Incident",
                "accept_incident",
                "read_incidents",
            ),
            "trends.watch": (
                "ChartCheck",
                "watch_shifts",
            ),
        },
    )
