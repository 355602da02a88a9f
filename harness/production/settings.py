"""What a project declares about its production in `online.yaml`: sampling, budgets, and what is watched."""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from harness.suite.documents import read_document
from harness.values import Frozen

FILE: Final = "online.yaml"
_IDENTIFIER: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,120}$"

Condition = Literal["always", "failed", "thumbs_down", "new_release", "slow"]
"""`failed`: a span ended in an error (for the judge also: a check failed or a failure mode was found). `thumbs_down`: a
user's score is below 0.5. `new_release`: the release was first received within `days`. `slow`: the duration is among
the longest, from `quantile` on."""


class SamplingRule(Frozen):
    """Sessions that meet the condition are chosen with this probability, by a hash of the session."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")
    """Its name in reports."""
    when: Condition = "always"
    """The conditions that a session must meet."""
    rate: float = Field(gt=0, le=1)
    """The share of them that is chosen."""
    scores: Literal["both", "rules", "judge"] = "both"
    """What the chosen ones are scored by: rules (checks, metrics, failure modes), the judge, or both."""
    days: float = Field(default=3, gt=0)
    """Of `new_release`."""
    quantile: float = Field(default=0.99, gt=0, lt=1)
    """Of `slow`."""


class DailyBudget(Frozen):
    """What scoring may use on one day (UTC). What does not fit waits for the next day."""

    usd: float | None = Field(default=None, gt=0)
    """For the judge's model. None: no limit."""
    tokens: int | None = Field(default=None, gt=0)
    """Input and output tokens of the judge's model."""
    sessions: int | None = Field(default=None, gt=0)
    """Sessions that are scored by rules."""


class WatchSettings(Frozen):
    """What is watched for shifts, and how many false alarms are accepted."""

    reference_days: int = Field(default=14, ge=3)
    """The first days of a chart; later ones are compared with them."""
    false_alarms_per_year: float = Field(default=2, gt=0)
    """Of all charts together, if nothing shifts."""
    margin: float = Field(default=0.005, ge=0, lt=0.5)
    """A rate that differs from its reference by less is not a shift."""
    signals: tuple[str, ...] = (
        "success",
        "check:*",
        "criterion:*",
        "mode:*",
        "broken_rule",
        "tool:*",
        "shape:*",
        "feedback",
        "unreadable",
        "without_content",
    )
    """Which signals have a chart, by name with wildcards."""
    least_sessions: int = Field(default=5, ge=1)
    """Days with fewer sessions of a signal are joined with the next."""


class ClickHouseSettings(Frozen):
    """Where records are stored in place of the store's own files: tables as the OpenTelemetry Collector's ClickHouse
    exporter makes them. What is there already is scored there; what the receiver takes is sent there.
    """

    url: str = Field(pattern=r"^(https?://[^/@\s]+|chdb:(/.*)?)$")
    """`http://HOST:8123` or `https://HOST:8443`; `chdb:/FOLDER` is ClickHouse inside of the process (extra `chdb`)."""
    database: str = Field(default="default", pattern=_IDENTIFIER)
    """The exporter's `database`."""
    traces: str = Field(default="otel_traces", pattern=_IDENTIFIER)
    """The exporter's `traces_table_name`."""
    logs: str = Field(default="otel_logs", pattern=_IDENTIFIER)
    """The exporter's `logs_table_name`."""
    user: str = "default"
    """Who logs in."""
    password_variable: str | None = None
    """The environment variable that holds the password."""
    source: str = Field(default="clickhouse", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,60}$")
    """The source of what did not come through the receiver. Nothing of it counts as observed."""
    days: float = Field(default=7, gt=0)
    """Sessions are searched for among traces with a record of so many last days; one that is named is always found."""


class OnlineSettings(Frozen):
    """The content of `online.yaml`. Without the file every session is scored."""

    store: str = "online"
    """Folder of the sessions and their scores, relative to the project."""
    pause_s: float = Field(default=300, ge=0)
    """A session that received nothing for so long is complete; a later span leads to a new score."""
    longest_s: float = Field(default=86_400, gt=0)
    """A session that goes on for longer is scored as it is, and again after each such time: no sender can keep a
    session from being scored.
    """
    sampling: tuple[SamplingRule, ...] = (SamplingRule(name="all", rate=1),)
    """A session is chosen with the highest rate of the rules that it meets."""
    seed: str = "harness"
    """Of the hash; another one chooses other sessions."""
    budget: DailyBudget = DailyBudget()
    """What scoring may use on one day."""
    category: tuple[str, ...] = ("session.category", "harness.case.category", "langfuse.trace.metadata.category")
    """Attributes that name a session's category; the first that a span has."""
    watch: WatchSettings = WatchSettings()
    """What is watched for shifts."""
    clickhouse: ClickHouseSettings | None = None
    """The records' tables in ClickHouse. Without it, they are files of the store."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> "OnlineSettings":
        names = [rule.name for rule in self.sampling]
        if len({*names}) < len(names):
            raise ValueError("two sampling rules have one name")
        return self


def online_settings(project: Path) -> OnlineSettings:
    """Of the project's `online.yaml`, or the defaults. Raises InvalidDocument with file, line and field."""
    path = project / FILE
    return read_document(path, OnlineSettings) if path.exists() else OnlineSettings()
