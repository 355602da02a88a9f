"""A theme, and how much it matters: how many sessions it touches, how bad that is, since when, whom to look at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from harness.production.failures import SEVERITIES, Cause, Examined, HarnessFault, Population, SessionFailure, cleaned
from harness.production.grouping import FailureGroup, ThemeKey
from harness.production.scores import day_of
from harness.runs.store.drift_report import DriftLink
from harness.scoring.statistics.intervals import Interval, effective_n_of_hits, wilson
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
    fault: HarnessFault | None
    """None: a failure of the agent or its tools; else a fault of the harness itself."""
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
    """`estimated_sessions` x `severity`, in sessions that failed entirely: what themes are ranked by."""
    impact_interval: Interval | None
    trend: Trend
    days: dict[str, int]
    """Day (UTC) -> sessions touched."""
    releases: dict[str, int]
    """Release -> sessions touched; "" if none is named."""
    first_release: str
    """The release of the first session that showed it, also if that is before the time examined."""
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
    """The reference of its issue; "" if there is none."""


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


_EXAMPLES: Final = 3
_EXCERPT: Final = 200


def scorer_kind(key: ThemeKey) -> str:
    """Which sessions can show a theme: those that scorers of this kind examined."""
    return "judge" if key.criterion.startswith("criterion:") else "rules"


class _Share(NamedTuple):
    """The share of sessions that a theme touches."""

    estimated: float
    population: float
    effective: float

    @property
    def share(self) -> float:
        return min(1.0, self.estimated / self.population) if self.population else 0.0


class _Half(NamedTuple):
    """Sessions of one half of the time."""

    touched: int
    sessions: int

    @property
    def interval(self) -> Interval | None:
        return wilson(self.touched / self.sessions, self.sessions) if self.sessions else None


class _Population:
    """The sessions that one kind of scorer examined: sums that every theme's share and trend are computed from."""

    def __init__(self, examined: Sequence[Examined]) -> None:
        weights = [one.inverse_rate for one in examined]
        self.total = sum(weights)
        self.count = len(examined)
        self.equally_weighted = sum(weights) ** 2 / sum(weight * weight for weight in weights) if weights else 0.0
        self._by_session: dict[str, list[Examined]] = {}
        for one in examined:
            self._by_session.setdefault(one.session, []).append(one)
        self._sizes = Counter(one.cluster for one in examined)
        self._squares = sum(size * size for size in self._sizes.values())
        times = [one.received_ns for one in examined]
        self.is_of_one_day = not times or day_of(min(times)) == day_of(max(times))
        self._middle_ns = (min(times) + max(times)) // 2 if times else 0
        self._earlier = sum(at <= self._middle_ns for at in times)

    def effective(self, touched: Mapping[str, SessionFailure]) -> float:
        """The effective number of sessions: of those of one cluster, as far as they are alike."""
        hits = Counter(one.cluster for session in touched for one in self._by_session.get(session, ()))
        pairs = [(float(ones), self._sizes[cluster]) for cluster, ones in hits.items()]
        found = effective_n_of_hits(pairs, cases=len(self._sizes), n=self.count, squares=self._squares)
        return self.equally_weighted * found / self.count if self.count else 0.0

    def halves(self, touched: Mapping[str, SessionFailure]) -> tuple[_Half, _Half]:
        """The earlier and the later half of the time: sessions that were touched, and all."""
        times = [one.received_ns for session in touched for one in self._by_session.get(session, ())]
        earlier = sum(at <= self._middle_ns for at in times)
        return _Half(earlier, self._earlier), _Half(len(times) - earlier, self.count - self._earlier)


class Ranking:
    """Ranks the groups of one population."""

    def __init__(self, population: Population) -> None:
        self._suite = population.suite
        by_kind: dict[str, list[Examined]] = {}
        for one in population.examined:
            by_kind.setdefault(one.kind, []).append(one)
        self._by_kind = {kind: _Population(examined) for kind, examined in by_kind.items()}
        self._is_run = population.is_of_run

    def theme(self, group: FailureGroup) -> Theme:
        """Without what only the known themes, the project or the tracker knows."""
        key = group.text.key
        examined = self._by_kind.get(scorer_kind(key)) or _Population(())
        by_session = {failure.session: failure for failure in reversed(group.failures)}  # its first failure
        estimated = sum(one.inverse_rate for one in by_session.values())
        share = _Share(estimated, examined.total, examined.effective(by_session))
        ordered = _by_likeness(group)
        severity = sum(SEVERITIES[one.weight] for one in by_session.values()) / len(by_session)
        interval, scale = wilson(share.share, share.effective), share.population * severity
        days = Counter(day_of(one.received_ns) for one in by_session.values())
        return Theme(
            id=group.text.id,
            suite=self._suite,
            title=_title(key, ordered[0][1].text),
            criterion=key.criterion,
            cause=key.cause,
            fault=key.fault,
            sessions=len(by_session),
            estimated_sessions=share.estimated,
            share=share.share,
            share_interval=interval,
            severity=severity,
            impact=share.estimated * severity,
            impact_interval=None
            if interval is None
            else Interval(low=interval.low * scale, high=interval.high * scale),
            trend="unknown" if self._is_run else _trend(examined, by_session),
            days=dict(sorted(days.items())),
            releases=dict(sorted(Counter(one.release for one in by_session.values()).items())),
            first_release=group.failures[0].release,
            first_day=min(days),
            last_day=max(days),
            representative=tuple(_example(*one) for one in ordered[:_EXAMPLES]),
            borderline=tuple(_example(*one) for one in reversed(ordered[_EXAMPLES:][-_EXAMPLES:])),
            members=tuple(dict.fromkeys(one.session for one in group.failures)),
            cases=tuple(sorted({one.case for one in group.failures if one.case})),
            drift=(),
            issue="",
        )


def _trend(examined: _Population, touched: Mapping[str, SessionFailure]) -> Trend:
    if examined.is_of_one_day:
        return "unknown"
    earlier, later = examined.halves(touched)
    now, before = later.interval, earlier.interval
    if later.touched and not earlier.touched:
        return "new"
    if now is not None and before is not None and now.low > before.high:
        return "rising"
    return "falling" if now is not None and before is not None and now.high < before.low else "steady"


def _by_likeness(group: FailureGroup) -> list[tuple[float, SessionFailure]]:
    """One failure a session, those most like the theme's text first; of equals the first that was received."""

    def place(one: tuple[float, SessionFailure]) -> tuple[float, int, str]:
        return -one[0], one[1].received_ns, one[1].session

    ranked = sorted(zip(group.similarities, group.failures, strict=True), key=place)
    return sorted({one.session: (alike, one) for alike, one in reversed(ranked)}.values(), key=place)


def _example(alike: float, failure: SessionFailure) -> Example:
    return Example(
        session=failure.session,
        step=failure.step,
        span=failure.span,
        release=failure.release,
        excerpt=cleaned(failure.text, _EXCERPT),
        similarity=alike,
    )


def _title(key: ThemeKey, told: str) -> str:
    """What failed, and what was said about it; if nothing was, the cause in words."""
    cause = key.cause
    what = "" if key.fault is None else f"harness: {key.fault.replace('_', ' ')}"
    where = ", ".join(part for part in (what, key.criterion.partition(":")[2]) if part)
    sentence = told.strip().partition("\n")[0]
    if cause.mode.startswith("answer/"):
        sentence = f"answered {f'after {cause.tool}' if cause.tool else 'without a call'}: {sentence}"
    elif not sentence:
        sentence = " ".join(part for part in (cause.mode.partition("/")[2], cause.tool, cause.error) if part)
    return cleaned(": ".join(part for part in (where, sentence) if part), 160)
