"""A theme: failures with one cause, and how much they matter. `ThemesReport` is what `harness themes --json` prints."""

from typing import Final, Literal

from harness.stats import Interval
from harness.themes.failure import Cause, HarnessFault
from harness.values import Frozen

SCHEMA_VERSION: Final = 1

Trend = Literal["new", "rising", "falling", "steady", "unknown"]
"""Of the later half of the time examined against the earlier half. `new`: nothing in the earlier half. `rising`,
`falling`: the 95 % intervals (Wilson) of the two shares do not overlap. `unknown`: a run, or one day."""


class Example(Frozen):
    """One session of a theme."""

    session: str
    """The session's key, or `<run>/<case>/<attempt>`."""
    step: int | None
    """Index of the step at which it began; None: not known."""
    span: str
    release: str
    excerpt: str
    """Untrusted text: what was said about it, on one line and cut to 200 characters."""
    similarity: float
    """To the text that the theme began with, from 0 to 1."""


class DriftLink(Frozen):
    """A finding of `harness drift` about the theme's tool."""

    run: str
    operation: str
    change: str
    severity: str


class Theme(Frozen):
    """Failures of one suite with one cause."""

    id: str
    """12 hexadecimal digits, the same from day to day."""
    suite: str
    title: str
    """Untrusted words in it are cleaned."""
    criterion: str
    """`check:<name>`, `criterion:<id>`, or ""."""
    cause: Cause
    also: dict[str, int] = {}
    """Failure modes found at the same step as the cause -> sessions: other words for it, or a second fault."""
    fault: HarnessFault | None
    """None: a failure of the agent or its tools; else a fault of the harness itself."""
    terms: tuple[str, ...]
    """The words that most of its texts share."""
    sessions: int
    """Scored sessions, or measured trials, that it touched."""
    estimated_sessions: float
    """Of all sessions, those not sampled included."""
    share: float
    """Of all sessions, estimated."""
    share_interval: Interval | None
    """95 %, Wilson, over the effective number of sessions."""
    severity: float
    """From 0 to 1, the mean over its sessions."""
    impact: float
    """`estimated_sessions` x `severity`: what themes are ranked by."""
    impact_interval: Interval | None
    trend: Trend
    days: dict[str, int]
    """Day (UTC) -> sessions touched."""
    releases: dict[str, int]
    """Release -> sessions touched; "" where none is named."""
    first_release: str
    """The release of the first session that showed it, also where that is before the time examined."""
    first_day: str
    last_day: str
    representative: tuple[Example, ...]
    borderline: tuple[Example, ...]
    """Those least like the others: read them before you believe that all have one cause."""
    members: tuple[str, ...]
    """Every session, oldest first."""
    cases: tuple[str, ...]
    """Cases of the suite that were made from its sessions, or that its trials ran."""
    drift: tuple[DriftLink, ...]
    issue: str
    """The reference of its issue; "" where there is none."""


class AbsentTheme(Frozen):
    """A theme with an issue that none of these sessions shows."""

    id: str
    suite: str
    issue: str
    last_day: str
    examined: int
    """Sessions since it was seen last that could have shown it: of a judge's criterion, those that a judge scored."""
    over: bool
    """Whether so many sessions without it would be less likely than 5 % if it went on at the lower bound of its
    rate."""


class ThemesReport(Frozen):
    """The themes of a run, or of the sessions of some time, by impact."""

    schema_version: int = SCHEMA_VERSION
    source: str
    """`run:<name>` or `store`."""
    since: str
    """First day examined (UTC), "" for all."""
    sessions: int
    """Sessions or trials examined: scored, or not measurable."""
    failed: int
    """Of these, with at least one failure."""
    themes: tuple[Theme, ...]
    away: tuple[AbsentTheme, ...] = ()

    @property
    def is_of_run(self) -> bool:
        """Whether it is a run's, and not production's."""
        return self.source.startswith("run:")
