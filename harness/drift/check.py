"""Checks for drift: sends recorded reads again, or compares a live run with the recordings."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.cassettes.cassette import Cassette, save_cassette
from harness.cassettes.check import provenance_counts
from harness.cassettes.journals import FOLDER, PROBE, LiveCassette, live_cassettes, only_writer
from harness.cassettes.profiles import ToolProfile, read_profile, write_profile
from harness.cassettes.recordings import Recording
from harness.drift.after_writes import AfterWrites
from harness.drift.flips import FlipPlan, with_flips
from harness.drift.learning import ProbeSession, learned
from harness.drift.listings import exercised_surfaces, surface_findings, surfaces_of
from harness.drift.observations import (
    CallObservations,
    OperationIndex,
    exercised_by,
    findings_of,
    in_order,
    open_operation_index,
    pair,
    unavailable_in,
)
from harness.drift.probe import Probed, Prober, confirm, open_prober, probe
from harness.drift.replayable import ReplayableRead, find_replayable_reads, is_at_start, plan_replays, resets_of
from harness.errors import HarnessError, ServiceError, UsageError
from harness.gateway.upstream.transport import LoopThread
from harness.runs.execution.environment import Say, open_services
from harness.runs.execution.preflight import started_servers
from harness.runs.plan.plan import secret_values
from harness.runs.store.drift_report import DriftFinding, DriftReport, write_drift
from harness.runs.store.manifest import RunNameTaken, begin_run, default_run_name
from harness.suite.loading import load_stored_suite
from harness.suite.suites import Suite, check_cases, state_names


@dataclass(frozen=True, kw_only=True)
class ServerAccess:
    """Access to the servers of a suite without an agent."""

    project: Path
    suite: Suite
    per_s: int
    """Maximum number of calls per second to external servers."""
    say: Callable[[str], None]

    @contextmanager
    def open(self, servers: Collection[str], snapshot: str | None) -> Iterator[tuple[Prober, LoopThread]]:
        """A prober of these servers; services are started, from the snapshot, only if one of them is a service."""
        suite, secrets = self.suite, secret_values(self.suite)
        if not any(suite.reached[name].service is not None for name in servers if name in suite.reached):
            plain = _without_services(suite)
            with started_servers(suite, servers, self.say), open_prober(plain, {}, secrets, self.per_s) as opened:
                yield opened
            return
        self.say("starting the environment's services")
        with (
            started_servers(suite, servers, self.say),
            open_services(self.project, suite.environment, snapshot) as services,
            open_prober(suite, services, secrets, self.per_s) as opened,
        ):
            yield opened


def servers_of(asks: Iterable[ReplayableRead]) -> frozenset[str]:
    """Those that are called."""
    return frozenset(ask.recording.mark.server for ask in asks if ask.call is not None)


def asks_by_snapshot(
    suite: Suite, cassettes: Mapping[str, Cassette], tools: Iterable[str]
) -> list[tuple[str | None, list[ReplayableRead]]]:
    """The recorded reads by the snapshot that their cases begin from; the suite's own comes first.

    A read of a service is asked once for each snapshot, because its answer depends on it; a read of any other server
    once.
    """
    own = {case.id: case.snapshot for case in suite.cases if case.snapshot is not None}
    tools, secrets = tuple(tools), secret_values(suite)
    every = find_replayable_reads(suite, cassettes, secrets, tools)
    services = {name for name, server in suite.reached.items() if server.service is not None}
    names = sorted({own[case] for case in cassettes if case in own})
    if not names:
        return [(suite.snapshot, every)]
    found: list[tuple[str | None, list[ReplayableRead]]] = []
    for name in (None, *names):
        begun = {case: cassette for case, cassette in cassettes.items() if own.get(case) == name}
        asks = find_replayable_reads(suite, begun, secrets, tools)
        of_services = [ask for ask in asks if ask.recording.mark.server in services]
        others = [] if name is not None else [ask for ask in every if ask.recording.mark.server not in services]
        found.append((name or suite.snapshot, [*others, *of_services]))
    return [one for one in found if one[1]] or found[:1]


def probe_after_writes(
    reach: ServerAccess, operations: OperationIndex, asks: Iterable[ReplayableRead], snapshot: str | None
) -> Probed:
    """Sends reads that were recorded after writes, each after the same writes to restored servers."""
    suite = reach.suite
    plan = plan_replays(suite, operations.cassettes, asks)
    probed = Probed(observations=(), recordings=(), not_asked=plan.not_asked, restores=len(plan.replays))
    for replay in plan.replays:
        run = AfterWrites(operations, replay, secret_values(suite))
        with reach.open(replay.servers, snapshot) as (prober, thread):
            probed = probed.with_more(thread.wait_for(run.run(prober)))
    return probed


def _without_services(suite: Suite) -> Suite:
    """The suite without requests to services: none needs to run."""
    return suite.model_copy(
        update={
            "servers": {name: server for name, server in suite.servers.items() if server.service is None},
            "hosts": tuple(host for host in suite.hosts if host.service is None),
        }
    )


PER_S = 10
"""Calls per second to servers of third parties, if the suite sets no limit."""


@dataclass(frozen=True, kw_only=True)
class DriftPlan:
    """The settings of one drift check."""

    project: Path
    suite: Suite
    cases: Sequence[str] = ()
    tools: Sequence[str] = ()
    """Empty: all."""
    per_s: int = PER_S
    name: str | None = None
    command: str = ""
    """The command that reproduces the check."""
    pages: str | None = None
    """As in the report."""
    flips: FlipPlan | None = None
    """The settings of the replay that finds changed verdicts; None: no replay."""
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
    def reach(self) -> ServerAccess:
        """Access to the suite's servers."""
        return ServerAccess(project=self.project, suite=self.suite, per_s=self.per_s, say=self.say)


@dataclass(frozen=True, kw_only=True)
class DriftResult:
    """The result of a drift check."""

    report: DriftReport
    folder: Path
    complete: bool
    """Whether every recorded call was compared, every listing was read and every server was reset."""


def probe_suite(plan: DriftPlan) -> DriftResult:
    """Sends the suite's recorded reads again and writes the report into `runs/<name>/`.

    Raises CassetteError if nothing is recorded, UsageError for a case or tool that does not exist.
    """
    operations = _book(plan)
    probed = _probed(plan, operations, samples=1, writes=True)
    runs, default = plan.project / "runs", default_run_name(plan.created, plan.suite.name, "probe")
    folder = begin_run(runs, plan.name, default, lambda name: _new_folder(runs / name))
    _store_recordings(folder, plan.suite.name, probed.recordings)
    return _drift_result(plan, operations, folder, probed)


_SAMPLES_OF_LEARNING = 3


def learn_suite(plan: DriftPlan, *, accept: bool) -> tuple[ToolProfile, ...]:
    """Sends every recorded read three times while the tools are known to work, and stores which values vary.

    Raises ServiceError, and learns nothing, if a tool does not answer.
    """
    operations = _book(plan)
    probed = _probed(plan, operations, samples=_SAMPLES_OF_LEARNING)
    unavailable = (*unavailable_in(probed.observations), *probed.problems)
    if unavailable:
        raise ServiceError(
            f"nothing was learned: {'; '.join(unavailable)}", remedy="run the command again when the tools answer"
        )
    return _learn(
        plan, operations, probed.observations, ProbeSession(day=plan.created.date(), shape=True, accept=accept)
    )


def compare_run(plan: DriftPlan, run: Path, *, confirm: bool) -> DriftResult:
    """Compares the answers of a live run's tools with the recordings; writes `drift.json` into the run's folder.

    `confirm`: reads whose answer changed are sent again. Raises UsageError if the run has stored no live answers.
    """
    kept = [one for one in live_cassettes(run) if not plan.cases or one.case is None or one.case in plan.cases]
    if not kept:
        raise UsageError(
            f"{run} contains no live answers to compare", remedy=f"make a live run: harness drift {plan.suite.name}"
        )
    operations = _book(plan)
    observations, divergences = pair(kept, operations)
    observations = tuple(
        observation for observation in observations if not plan.tools or observation.tool in plan.tools
    )
    if confirm:
        _confirm(plan, operations, observations)
    return _drift_result(
        plan, operations, run, Probed(observations=observations, recordings=(), not_asked={}), divergences
    )


def suite_of(project: Path, run: Path) -> Suite:
    """The current suite of a run or probe. Raises UsageError if the folder names none."""
    kept = next(live_cassettes(run), None)
    if kept is None:
        raise UsageError(f"{run} contains no live answers to compare", remedy="make a live run: harness drift SUITE")
    return load_stored_suite(project, kept.suite, run)


def _book(plan: DriftPlan) -> OperationIndex:
    check_cases(plan.suite, plan.cases)
    operations = open_operation_index(plan.suite, plan.cassettes, secret_values(plan.suite))
    recorded = {recording.mark.tool for cassette in operations.cassettes.values() for recording in cassette.recordings}
    missing = sorted(set(plan.tools) - recorded)
    if missing:
        raise UsageError(
            f"there are no recordings of {', '.join(missing)}", remedy=f"recorded: {', '.join(sorted(recorded))}"
        )
    return operations


def _of_cases(operations: OperationIndex, plan: DriftPlan) -> Mapping[str, Cassette]:
    return {case: cassette for case, cassette in operations.cassettes.items() if not plan.cases or case in plan.cases}


def _confirm(plan: DriftPlan, operations: OperationIndex, observations: Sequence[CallObservations]) -> None:
    """Sends reads whose answers differed again."""
    doubtful = {observation.recorded.place: observation for observation in observations if observation.has_changes}
    for snapshot, asks in asks_by_snapshot(plan.suite, _of_cases(operations, plan), plan.tools):
        again = [
            (ask, doubtful.pop(ask.recording.place))
            for ask in asks
            if ask.call is not None
            and ask.recording.place in doubtful
            and set(ask.cases) & doubtful[ask.recording.place].cases
        ]
        if not again:
            continue
        servers = servers_of(ask for ask, _ in again)
        with plan.reach.open(servers, snapshot) as (prober, thread):
            not_reset = thread.wait_for(_reset_first(prober, plan.suite, servers))
            for ask, observation in again:
                if ask.recording.mark.server not in not_reset:
                    thread.wait_for(confirm(prober, ask, observation, operations))


async def _reset_first(prober: Prober, suite: Suite, servers: Iterable[str]) -> dict[str, str]:
    """Resets the servers as before a trial, because a recording holds what a server answered after its reset. Returns
    the servers that could not be reset, with the reason.
    """
    done: dict[tuple[str, ...], str | None] = {}
    names, problems = state_names(suite), dict[str, str]()
    for server in sorted(servers):
        resets = resets_of(suite, names, {server})
        if resets not in done:
            done[resets] = await prober.reset(resets)
        if (problem := done[resets]) is not None:
            problems[server] = problem
    return problems


def _store_recordings(folder: Path, suite: str, recordings: Sequence[Recording]) -> None:
    save_cassette(folder / FOLDER / suite / f"{PROBE}.yaml", Cassette(recordings), suite=suite, case=PROBE)


def _new_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        raise RunNameTaken(f"run {path.name!r} already exists in {path.parent}", remedy="choose another name") from None
    return path


def _probed(plan: DriftPlan, operations: OperationIndex, *, samples: int, writes: bool = False) -> Probed:
    """`writes`: reads after writes are sent too, if servers may be written to and can be restored."""
    probed = Probed(observations=(), recordings=(), not_asked={})
    for snapshot, asks in asks_by_snapshot(plan.suite, _of_cases(operations, plan), plan.tools):
        later = [ask for ask in asks if ask.follows_a_write] if writes else []
        first = [ask for ask in asks if not (writes and ask.follows_a_write)]
        servers = servers_of(first)
        with plan.reach.open(servers, snapshot) as (prober, thread):
            not_reset = thread.wait_for(_reset_first(prober, plan.suite, servers))
            first = [replace(one, why_not=one.why_not or not_reset.get(one.recording.mark.server)) for one in first]
            found = thread.wait_for(probe(prober, first, operations, samples=samples))
            probed = probed.with_more(replace(found, problems=tuple(sorted(set(not_reset.values())))))
        if later:
            probed = probed.with_more(probe_after_writes(plan.reach, operations, later, snapshot))
    return probed


def _drift_result(
    plan: DriftPlan, operations: OperationIndex, folder: Path, probed: Probed, divergences: Sequence[str] = ()
) -> DriftResult:
    surfaces = surfaces_of(plan.project, plan.suite.folder.name) if plan.listings and not plan.tools else ()
    confirmed, unconfirmed = findings_of(probed.observations)
    findings_of_surfaces = surface_findings(surfaces, _cases_by_tool(operations))
    findings = in_order((*confirmed, *findings_of_surfaces))
    if plan.flips is not None and findings:
        findings = _flipped(plan.flips, operations, findings, list(live_cassettes(folder)))
    compared = [observation.recorded for observation in probed.observations if observation.compared]
    report = DriftReport(
        suite=plan.suite.name,
        run=folder.name,
        seen=plan.created,
        command=plan.command,
        pages=plan.pages,
        findings=findings,
        compared=len(compared),
        unanswered=len(probed.observations) - len(compared),
        provenance=provenance_counts(compared),
        doubles=tuple(sorted({one.mark.server for one in compared} & plan.suite.doubles.servers)),
        after_writes=sum(1 for one in compared if not is_at_start(one)),
        restores=probed.restores,
        not_asked=dict(probed.not_asked),
        exercised=dict(sorted((exercised_surfaces(surfaces, exercised_by(probed.observations))).items())),
        unconfirmed=unconfirmed,
        divergences=tuple(divergences),
        unavailable=(
            *unavailable_in(probed.observations),
            *probed.problems,
            *(f"{one.server}: its listing: {one.problem}" for one in surfaces if one.problem is not None),
        ),
    )
    write_drift(folder, report)
    if plan.learn:
        _learn(plan, operations, probed.observations, ProbeSession(day=plan.created.date()))
    unread = any(one.problem is not None for one in surfaces)
    return DriftResult(
        report=report, folder=folder, complete=not (report.not_probed or probed.problems or unread or not compared)
    )


def _flipped(
    plan: FlipPlan, operations: OperationIndex, findings: tuple[DriftFinding, ...], kept: Sequence[LiveCassette]
) -> tuple[DriftFinding, ...]:
    try:
        return with_flips(plan, operations, findings, kept)
    except HarnessError as error:
        plan.say(f"which verdicts change cannot be determined: {error.message}")
        return findings


def _cases_by_tool(operations: OperationIndex) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for case, cassette in operations.cassettes.items():
        for recording in cassette.recordings:
            found.setdefault(recording.mark.tool, set()).add(case)
    return {tool: tuple(sorted(cases)) for tool, cases in found.items()}


def _learn(
    plan: DriftPlan, operations: OperationIndex, observations: Sequence[CallObservations], session: ProbeSession
) -> tuple[ToolProfile, ...]:
    """Locks the profile, so that concurrent probes do not lose samples."""
    changed: list[ToolProfile] = []
    with only_writer(plan.cassettes / plan.suite.name):
        for tool in sorted({observation.tool for observation in observations if observation.answers}):
            old = read_profile(plan.cassettes, plan.suite.name, tool)
            new = learned(old, observations, operations.rules(tool), session)
            if new != old:
                write_profile(plan.cassettes, plan.suite.name, new)
            changed.append(new)
    return tuple(changed)
