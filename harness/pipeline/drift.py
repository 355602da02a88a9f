"""Checks for drift: sends recorded reads again, or compares a live run with the recordings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from harness.case import Suite, check_cases, load_stored_suite
from harness.cassette import (
    Cassette,
    LiveCassette,
    Recording,
    live_cassettes,
    only_writer,
    provenance_counts,
    save_cassette,
)
from harness.cassette.live import FOLDER, PROBE
from harness.drift import (
    CallObservations,
    OperationIndex,
    Probed,
    ProbeSession,
    ToolProfile,
    asks_of,
    confirm,
    exercised_by,
    exercised_surfaces,
    findings_of,
    in_order,
    is_at_start,
    learned,
    open_book,
    pair,
    read_profile,
    slower_findings,
    surface_findings,
    unavailable_in,
    write_profile,
)
from harness.drift.probe import probe
from harness.errors import HarnessError, ServiceError, UsageError
from harness.pipeline.flips import FlipPlan, with_flips
from harness.pipeline.probing import Reach, probe_after_writes, servers_of
from harness.pipeline.secrets import secret_values
from harness.pipeline.surfaces import surfaces_of
from harness.pipeline.world import Say
from harness.results import DriftFinding, DriftReport, RunNameTaken, begin_run, default_run_name, write_drift

PER_S = 10
"""Calls per second to servers of third parties, where the suite sets no limit."""


@dataclass(frozen=True, kw_only=True)
class DriftPlan:
    """The settings of one drift check."""

    project: Path
    suite: Suite
    cases: Sequence[str] = ()
    tools: Sequence[str] = ()
    """Empty: all."""
    samples: int = 1
    """How often a probe sends each recorded read."""
    per_s: int = PER_S
    name: str | None = None
    command: str = ""
    """What shows it again."""
    flips: FlipPlan | None = None
    """How the verdicts that change are found; None: not at all."""
    learn: bool = True
    """Whether observed variation of volatile values is stored in the profiles."""
    listings: bool = True
    """Whether the listings of the sources are compared too."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    say: Say = field(default=lambda _: None)

    @property
    def cassettes(self) -> Path:
        return self.project / "cassettes"

    @property
    def reach(self) -> Reach:
        """How the suite's servers are reached."""
        return Reach(project=self.project, suite=self.suite, per_s=self.per_s, say=self.say)


@dataclass(frozen=True, kw_only=True)
class DriftResult:
    """The result of a drift check."""

    report: DriftReport
    folder: Path
    asked: int
    """Recorded calls that live answers were compared with."""
    blind: tuple[str, ...]
    """Tools of which nothing could be compared."""


def probe_suite(plan: DriftPlan) -> DriftResult:
    """Sends the suite's recorded reads again and writes the report into `runs/<name>/`.

    Raises CassetteError where nothing is recorded, UsageError for a case or tool that does not exist.
    """
    book = _book(plan)
    probed = _probed(plan, book, plan.samples, writes=True)
    runs, default = plan.project / "runs", default_run_name(plan.created, plan.suite.name, "probe")
    folder = begin_run(runs, plan.name, default, lambda name: _new_folder(runs / name))
    _keep(folder, plan.suite.name, probed.recordings)
    return _looked(plan, book, folder, probed)


def learn_suite(plan: DriftPlan, samples: int, *, accept: bool) -> tuple[ToolProfile, ...]:
    """Sends every recorded read `samples` times while the tools are known to work, and stores which values vary.

    Raises ServiceError, and learns nothing, where a tool does not answer.
    """
    book = _book(plan)
    probed = _probed(plan, book, samples)
    unavailable = unavailable_in(probed.looks)
    if unavailable:
        raise ServiceError(f"nothing was learned: {'; '.join(unavailable)}", remedy="learn when the tools answer")
    return _learn(plan, book, probed.looks, ProbeSession(day=plan.created.date(), shape=True, accept=accept))


def compare_run(plan: DriftPlan, run: Path, *, confirm: bool) -> DriftResult:
    """Compares the answers of a live run's tools with the recordings; writes `drift.json` into the run's folder.

    `confirm`: reads whose answer changed are sent again. Raises UsageError where the run has stored no live answers.
    """
    kept = [one for one in live_cassettes(run) if not plan.cases or one.case is None or one.case in plan.cases]
    if not kept:
        raise UsageError(
            f"{run} holds no live answers to compare", remedy=f"make a live run: harness drift {plan.suite.name}"
        )
    book = _book(plan)
    looks, divergences = pair(kept, book)
    looks = tuple(look for look in looks if not plan.tools or look.tool in plan.tools)
    if confirm:
        _confirm(plan, book, looks)
    return _looked(plan, book, run, Probed(looks=looks, recordings=(), not_asked={}), divergences)


def suite_of(project: Path, run: Path) -> Suite:
    """The current suite of a run or probe. Raises UsageError where the folder names none."""
    kept = next(live_cassettes(run), None)
    if kept is None:
        raise UsageError(f"{run} holds no live answers to compare", remedy="make a live run: harness drift SUITE")
    return load_stored_suite(project, kept.suite)


def _book(plan: DriftPlan) -> OperationIndex:
    check_cases(plan.suite, plan.cases)
    book = open_book(plan.suite, plan.cassettes, secret_values(plan.suite))
    recorded = {recording.mark.tool for cassette in book.cassettes.values() for recording in cassette.recordings}
    missing = sorted(set(plan.tools) - recorded)
    if missing:
        raise UsageError(
            f"nothing is recorded of {', '.join(missing)}", remedy=f"recorded: {', '.join(sorted(recorded))}"
        )
    return book


def _of_cases(book: OperationIndex, plan: DriftPlan) -> Mapping[str, Cassette]:
    return {case: cassette for case, cassette in book.cassettes.items() if not plan.cases or case in plan.cases}


def _confirm(plan: DriftPlan, book: OperationIndex, looks: Sequence[CallObservations]) -> None:
    """Sends reads whose answers differed again."""
    doubtful = {look.recorded.place: look for look in looks if look.has_changes}
    asks = asks_of(plan.suite, _of_cases(book, plan), secret_values(plan.suite), plan.tools)
    again = [ask for ask in asks if ask.call is not None and ask.recording.place in doubtful]
    if not again:
        return
    with plan.reach.open(servers_of(again)) as (prober, thread):
        for ask in again:
            look = doubtful[ask.recording.place]
            thread.wait_for(confirm(prober, ask, look, book))


def _keep(folder: Path, suite: str, recordings: Sequence[Recording]) -> None:
    save_cassette(folder / FOLDER / suite / f"{PROBE}.yaml", Cassette(recordings), suite=suite, case=PROBE)


def _new_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        raise RunNameTaken(
            f"there is already a run {path.name!r} in {path.parent}", remedy="choose another name"
        ) from None
    return path


def _probed(plan: DriftPlan, book: OperationIndex, samples: int, *, writes: bool = False) -> Probed:
    """`writes`: reads after writes are sent too, where servers may be written to and can be restored."""
    asks = asks_of(plan.suite, _of_cases(book, plan), secret_values(plan.suite), plan.tools)
    later = [ask for ask in asks if ask.follows_a_write] if writes else []
    first = [ask for ask in asks if not (writes and ask.follows_a_write)]
    with plan.reach.open(servers_of(first)) as (prober, thread):
        probed = thread.wait_for(probe(prober, first, book, samples=samples))
    return probed.with_more(probe_after_writes(plan.reach, book, later, samples)) if later else probed


def _looked(
    plan: DriftPlan, book: OperationIndex, folder: Path, probed: Probed, divergences: Sequence[str] = ()
) -> DriftResult:
    surfaces = surfaces_of(plan.project, plan.suite.folder.name) if plan.listings and not plan.tools else ()
    confirmed, unconfirmed = findings_of(probed.looks)
    told = surface_findings(surfaces, _cases_by_tool(book))
    findings = in_order((*confirmed, *told, *slower_findings(probed.looks, book)))
    if plan.flips is not None and findings:
        findings = _flipped(plan.flips, book, findings, list(live_cassettes(folder)))
    compared = [look.recorded for look in probed.looks if look.compared]
    report = DriftReport(
        suite=plan.suite.name,
        run=folder.name,
        seen=plan.created,
        command=plan.command,
        findings=findings,
        compared=len(compared),
        provenance=provenance_counts(compared),
        doubles=tuple(sorted({one.mark.server for one in compared} & plan.suite.doubles.servers)),
        after_writes=sum(1 for one in compared if not is_at_start(one)),
        restores=probed.restores,
        not_asked=dict(probed.not_asked),
        exercised=dict(sorted((exercised_surfaces(surfaces, exercised_by(probed.looks))).items())),
        unconfirmed=unconfirmed,
        divergences=tuple(divergences),
        unavailable=(
            *unavailable_in(probed.looks),
            *probed.problems,
            *(f"{one.server}: its listing: {one.problem}" for one in surfaces if one.problem is not None),
        ),
    )
    write_drift(folder, report)
    if plan.learn:
        _learn(plan, book, probed.looks, ProbeSession(day=plan.created.date()))
    tools = {look.tool for look in probed.looks}
    seen = {look.tool for look in probed.looks if look.compared}
    return DriftResult(
        report=report,
        folder=folder,
        asked=len(compared),
        blind=(*sorted(tools - seen), *(one.server for one in surfaces if one.problem is not None)),
    )


def _flipped(
    plan: FlipPlan, book: OperationIndex, findings: tuple[DriftFinding, ...], kept: Sequence[LiveCassette]
) -> tuple[DriftFinding, ...]:
    try:
        return with_flips(plan, book, findings, kept)
    except HarnessError as error:
        plan.say(f"which verdicts change cannot be told: {error.message}")
        return findings


def _cases_by_tool(book: OperationIndex) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for case, cassette in book.cassettes.items():
        for recording in cassette.recordings:
            found.setdefault(recording.mark.tool, set()).add(case)
    return {tool: tuple(sorted(cases)) for tool, cases in found.items()}


def _learn(
    plan: DriftPlan, book: OperationIndex, looks: Sequence[CallObservations], session: ProbeSession
) -> tuple[ToolProfile, ...]:
    """One writer at a time: two nightly probes both count."""
    changed: list[ToolProfile] = []
    with only_writer(plan.cassettes / plan.suite.name):
        for tool in sorted({look.tool for look in looks if look.answers}):
            old = read_profile(plan.cassettes, plan.suite.name, tool)
            new = learned(old, looks, book.rules(tool), session)
            if new != old:
                write_profile(plan.cassettes, plan.suite.name, new)
            changed.append(new)
    return tuple(changed)
