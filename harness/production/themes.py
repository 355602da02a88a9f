"""The themes of a run or of a store's sessions, followed over days, with links to what is known of them."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

from harness.disk import make_folder, write_atomically
from harness.errors import HarnessError, UsageError
from harness.production.failures import Population, run_population, store_populations
from harness.production.grouping import FailureGroup, ThemeText, grouped
from harness.production.ranking import AbsentTheme, Ranking, Theme, ThemesReport, scorer_kind
from harness.production.scores import day_of
from harness.production.session import session_origin
from harness.production.store import SessionStore
from harness.runs.store.drift_report import DriftLink, drift_reports
from harness.runs.store.folder import RunFolder
from harness.suite.documents import read_document
from harness.suite.loading import load_suite
from harness.suite.suite_file import suite_names
from harness.values import Frozen, digest_of_text

# What is remembered of themes from one day to the next: `themes/<suite>.json` in the project, of runs
# `themes/runs/<suite>.json`. Filing remembers them; listing only reads.
#
# It holds no text of a session: a theme's identity as hashes of shingles, since when it is there, how frequent it was,
# and its issue. If the file is lost, themes are found again; an id is a digest of the texts that began its theme, so
# that many of them are others then.

FOLDER: Final = "themes"
_KEPT_DAYS: Final = 90
_MOST_KEPT: Final = 5_000


class KnownTheme(Frozen):
    """One theme that was seen before."""

    text: ThemeText
    first_ns: int
    """When the first session that showed it was received."""
    first_release: str
    last_ns: int
    rate: float
    """The lower bound of the share of the sessions that it touched when it was last seen."""
    issue: str = ""
    """The reference of its issue; "" if none was filed."""


class KnownThemes(Frozen):
    """The known themes of one suite."""

    schema_version: int = 1
    themes: tuple[KnownTheme, ...] = ()

    @property
    def by_id(self) -> dict[str, KnownTheme]:
        return {one.text.id: one for one in self.themes}

    def with_themes(self, seen: dict[str, KnownTheme]) -> "KnownThemes":
        """With these themes as they were seen last; forgets those without an issue that stayed away for 90 days."""
        merged = self.by_id | seen
        newest = max((one.last_ns for one in merged.values()), default=0)
        oldest = newest - _KEPT_DAYS * 86_400 * 10**9
        kept = [one for one in merged.values() if one.issue or one.last_ns >= oldest]
        kept.sort(key=lambda one: (-one.last_ns, one.text.id))
        return KnownThemes(themes=tuple(sorted(kept[:_MOST_KEPT], key=lambda one: (one.first_ns, one.text.id))))


def known_themes_path(project: Path, suite: str, *, of_runs: bool) -> Path:
    """Runs have a file of their own: what a run does not show says nothing about production.

    The name of a suite that sessions or an untrusted run name is not a path.
    """
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in suite)[:80]
    name = plain if plain == suite else f"{plain}-{digest_of_text(suite)[:8]}"
    return project / FOLDER / ("runs" if of_runs else "") / f"{name}.json"


def read_known_themes(path: Path) -> KnownThemes:
    """An empty one if there is none. Raises InvalidDocument that names file and field."""
    return read_document(path, KnownThemes) if path.is_file() and not path.is_symlink() else KnownThemes()


@contextmanager
def known_themes_lock(project: Path) -> Iterator[None]:
    """Held from reading the file to writing it."""
    make_folder(project / FOLDER)
    with (project / FOLDER / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_known_themes(path: Path, known: KnownThemes) -> None:
    """Whole, or not at all."""
    make_folder(path.parent)
    write_atomically(path, (known.model_dump_json(indent=1) + "\n").encode())


_MOST_LINKS: Final = 20
_UNLIKELY: Final = 0.05


def themes_of_run(project: Path, folder: RunFolder, *, remember: bool = False) -> ThemesReport:
    """Of a run's trials. Raises ResultsError naming a damaged file.

    `remember`: write them into the file of known themes, so that later failures of their kinds join them.
    """
    return _report(project, [run_population(project, folder)], f"run:{folder.manifest.run}", "", remember=remember)


def themes_of_store(
    project: Path,
    store: SessionStore,
    *,
    since_ns: int = 0,
    suite: str | None = None,
    remember: bool = False,
) -> ThemesReport:
    """Of the scored sessions received since then. `remember`: as for `themes_of_run`.

    Raises UsageError for a suite that never scored a session.
    """
    populations = store_populations(project, store, since_ns=since_ns, suite=suite)
    if suite is not None and not populations:
        suites = store.score_store.suites()
        if suite not in suites:
            known = f"suites with scores: {', '.join(suites)}" if suites else f"harness online score {suite}"
            raise UsageError(f"no session is scored by {suite!r}", remedy=known)
    return _report(project, populations, "store", day_of(since_ns) if since_ns else "", remember=remember)


def theme_named(report: ThemesReport, named: str) -> Theme:
    """The theme of an id, or of an unambiguous beginning of one. Raises UsageError."""
    found = [theme for theme in report.themes if named and theme.id.startswith(named)]
    if not found:
        raise UsageError(f"there is no theme {named[:40]!r}", remedy="harness themes lists their ids")
    if len(found) > 1:
        ids = ", ".join(theme.id for theme in found[:_MOST_LINKS])
        raise UsageError(f"the ids of {len(found)} themes begin with {named[:40]!r}", remedy=f"one of: {ids}")
    return found[0]


def _report(
    project: Path, populations: Sequence[Population], source: str, since: str, *, remember: bool
) -> ThemesReport:
    followed = [_followed(project, one, remember=remember) for one in populations]
    themes = [theme for found, _ in followed for theme in found]
    themes.sort(key=lambda theme: (-theme.impact, theme.id))
    return ThemesReport(
        source=source,
        since=since,
        sessions=len({(one.suite, examined.session) for one in populations for examined in one.examined}),
        failed=len({(one.suite, failure.session) for one in populations for failure in one.failures}),
        themes=tuple(themes),
        away=tuple(one for _, away in followed for one in away),
    )


def _followed(project: Path, population: Population, *, remember: bool) -> tuple[list[Theme], list[AbsentTheme]]:
    path = known_themes_path(project, population.suite, of_runs=population.is_of_run)
    with known_themes_lock(project) if remember else nullcontext():
        known = read_known_themes(path)
        texts = [one.text for one in known.themes]
        groups = grouped(population.suite, population.failures, texts, of_run=population.is_of_run)
        ranking = Ranking(population)
        themes = [ranking.theme(group) for group in groups]
        seen = {
            theme.id: _known_theme(group, theme, known.by_id.get(theme.id))
            for group, theme in zip(groups, themes, strict=True)
        }
        if remember and seen:
            write_known_themes(path, known.with_themes(seen))
    links = _Links(project, population.suite)
    away = [_absent_theme(one, population) for one in known.themes if one.issue and one.text.id not in seen]
    return [links.linked(theme, seen[theme.id]) for theme in themes], away


def _absent_theme(known: KnownTheme, population: Population) -> AbsentTheme:
    kind = scorer_kind(known.text.key)
    examined = len({one.session for one in population.examined if one.kind == kind and one.received_ns > known.last_ns})
    return AbsentTheme(
        id=known.text.id,
        suite=population.suite,
        issue=known.issue,
        last_day=day_of(known.last_ns),
        examined=examined,
        over=(1 - known.rate) ** examined < _UNLIKELY,
    )


def _known_theme(group: FailureGroup, theme: Theme, before: KnownTheme | None) -> KnownTheme:
    first, last = group.failures[0], group.failures[-1]
    now = KnownTheme(
        text=group.text,
        first_ns=first.received_ns,
        first_release=first.release,
        last_ns=last.received_ns,
        rate=0.0 if theme.share_interval is None else theme.share_interval.low,
    )
    if before is None:
        return now
    earlier = before if before.first_ns <= now.first_ns else now
    later = now if now.last_ns >= before.last_ns else before
    return now.model_copy(
        update={
            "first_ns": earlier.first_ns,
            "first_release": earlier.first_release,
            "last_ns": later.last_ns,
            "rate": later.rate,
            "issue": before.issue,
        }
    )


class _Links:
    """What a project knows of themes: cases made from their sessions, and drift of their tools."""

    def __init__(self, project: Path, suite: str) -> None:
        self._origins = _origins(project, suite)
        self._drift = [report for report in drift_reports(project) if report.suite == suite]

    def linked(self, theme: Theme, known: KnownTheme) -> Theme:
        """With links, and with what the known themes tell."""
        names = {session_origin(member) for member in theme.members} | {*theme.members}
        made = {self._origins[name] for name in names & {*self._origins}}
        return theme.model_copy(
            update={
                "cases": tuple(sorted({*theme.cases, *made}))[:_MOST_LINKS],
                "drift": tuple(self._drift_of(theme.cause.tool))[:_MOST_LINKS],
                "first_release": known.first_release,
                "first_day": day_of(known.first_ns),
                "issue": known.issue,
            }
        )

    def _drift_of(self, tool: str) -> Iterator[DriftLink]:
        for report in self._drift if tool else ():
            for one in report.findings:
                if one.tool == tool:
                    yield report.link(one)


def _origins(project: Path, suite: str) -> dict[str, str]:
    try:
        cases = load_suite(project, suite).cases if suite in suite_names(project) else ()
    except HarnessError:  # a suite that is being edited costs the links, not the themes
        return {}
    return {case.origin: case.id for case in cases if case.origin}
