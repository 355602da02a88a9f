"""Groups of failures as themes: how many sessions they touch, how bad that is, since when, and whom to look at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from harness.stats import Interval, effective_n_of_hits, wilson
from harness.themes.failure import SEVERITIES, SessionFailure, cleaned
from harness.themes.grouping import FailureGroup, ThemeKey
from harness.themes.population import Examined, Population
from harness.themes.text import common_words
from harness.themes.theme import Example, Theme, Trend

_EXAMPLES: Final = 3
_EXCERPT: Final = 200
_MEMBERS_FOR_TERMS: Final = 200


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
    """The sessions that one kind of scorer examined: sums that every theme's share and trend are worked out from."""

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
        share = _share(examined, by_session)
        severity = sum(SEVERITIES[one.weight] for one in by_session.values()) / len(by_session)
        interval = wilson(share.share, share.effective)
        days = Counter(day_of(one.received_ns) for one in by_session.values())
        return Theme(
            id=group.text.id,
            suite=self._suite,
            title=_title(key, terms := common_words([one.text for one in group.failures[:_MEMBERS_FOR_TERMS]])),
            criterion=key.criterion,
            cause=key.cause,
            also=dict(sorted(Counter(mode for one in by_session.values() for mode in one.also).items())),
            fault=key.fault,
            terms=terms,
            sessions=len(by_session),
            estimated_sessions=share.estimated,
            share=share.share,
            share_interval=interval,
            severity=severity,
            impact=share.estimated * severity,
            impact_interval=None if interval is None else _scaled(interval, share.population * severity),
            trend="unknown" if self._is_run else _trend(examined, by_session),
            days=dict(sorted(days.items())),
            releases=dict(sorted(Counter(one.release for one in by_session.values()).items())),
            first_release=group.failures[0].release,
            first_day=min(days),
            last_day=max(days),
            **_examples(group),
            members=tuple(dict.fromkeys(one.session for one in group.failures)),
            cases=tuple(sorted({one.case for one in group.failures if one.case})),
            drift=(),
            issue="",
        )


def _share(examined: _Population, touched: Mapping[str, SessionFailure]) -> _Share:
    estimated = sum(one.inverse_rate for one in touched.values())
    return _Share(estimated, examined.total, examined.effective(touched))


def _scaled(interval: Interval, by: float) -> Interval:
    return Interval(low=interval.low * by, high=interval.high * by)


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


def _examples(group: FailureGroup) -> dict[str, tuple[Example, ...]]:
    """Those most like the theme's text, one a session, and those least like it; no session is in both."""
    ranked = sorted(
        zip(group.similarities, group.failures, strict=True),
        key=lambda one: (-one[0], one[1].received_ns, one[1].session),
    )
    by_session = {failure.session: (alike, failure) for alike, failure in reversed(ranked)}
    ordered = sorted(by_session.values(), key=lambda one: (-one[0], one[1].received_ns, one[1].session))
    least = ordered[_EXAMPLES:][-_EXAMPLES:]
    return {
        "representative": tuple(_example(*one) for one in ordered[:_EXAMPLES]),
        "borderline": tuple(_example(*one) for one in reversed(least)),
    }


def _example(alike: float, failure: SessionFailure) -> Example:
    return Example(
        session=failure.session,
        step=failure.step,
        span=failure.span,
        release=failure.release,
        excerpt=cleaned(failure.text, _EXCERPT),
        similarity=alike,
    )


def _title(key: ThemeKey, terms: Sequence[str]) -> str:
    """What failed, why, and at which tool, in words."""
    cause = key.cause
    what = "" if key.fault is None else f"harness: {key.fault.replace('_', ' ')}"
    parts = [
        what,
        key.criterion.partition(":")[2],
        cause.mode.partition("/")[2].replace("_", " "),
        " ".join(part for part in (cause.tool, cause.error.replace("_", " ")) if part),
    ]
    title = ", ".join(part for part in parts if part)
    return cleaned(f"{title}: {' '.join(terms)}" if terms else title, 160)


def day_of(ns: int) -> str:
    """The day in UTC."""
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d")
