"""Joint mode: a candidate's texts of all components, tried in whole conversations.

Each case is run as `harness run` runs it: in a sandbox, with its user, its faults and its fixtures, several at a time,
in a world that is opened once for all candidates. Models are live, those of users too. Tools are the services that the
suite has of its own; if it has none, its recordings answer, and a trial that they cannot answer measures nothing.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Final

from harness.improve.candidates import Candidate, CandidateAgents, agent_of
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import TrialJudge, TrialVerdict
from harness.runs.execution.preflight import check_reachable
from harness.runs.execution.variants import (
    VariantBench,
    VariantRequest,
    VariantResult,
    open_variants,
    variant_tool_mode,
)
from harness.runs.plan.plan import RunPlan, secret_values
from harness.sandbox.ownership import temporary_folder
from harness.sandbox.providers import isolates
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.suite.interventions import TrialVariant
from harness.suite.models import ModelMode
from harness.suite.suites import case_of
from harness.traces.trial import Trial

# The frozen files of an agent are read in place, by a process of this machine or through a read-only mount of a
# container, and nothing of the harness opens them during a trial. A container engine in another kernel reports nothing.

_OPENED: Final = 0x20
_IS_FOLDER: Final = 0x40000000
_OVERFLOW: Final = 0x4000
_HEADER: Final = struct.Struct("iIII")
_AT_ONCE: Final = 1 << 20
_MOST_FOLDERS: Final = 1_000


class OpenedFiles:
    """The files in a folder that any process has opened since the watch began."""

    def __init__(self, descriptor: int | None, folders: dict[int, str], *, certain: bool) -> None:
        self._descriptor = descriptor
        self._folders = folders
        self._certain = certain
        self._names: set[str] = set()

    @property
    def names(self) -> tuple[str, ...] | None:
        """Relative to the folder, sorted; None if it cannot be determined."""
        if self._descriptor is not None and not self._drained(self._descriptor):
            self._descriptor = None
        if self._descriptor is None or not (self._names or self._certain):
            return None
        return tuple(sorted(self._names))

    def _drained(self, descriptor: int) -> bool:
        """False if the kernel has dropped events."""
        while True:
            try:
                events = os.read(descriptor, _AT_ONCE)
            except BlockingIOError:
                return True
            place = 0
            while place < len(events):
                watch, mask, _, length = _HEADER.unpack_from(events, place)
                place += _HEADER.size + length
                if mask & _OVERFLOW:
                    return False
                if mask & _OPENED and not mask & _IS_FOLDER:
                    name = os.fsdecode(events[place - length : place].rstrip(b"\0"))
                    self._names.add(f"{self._folders[watch]}{name}")


def texts_read(candidate: Candidate, opened: OpenedFiles) -> tuple[str, ...] | None:
    """The candidate's texts among them; None if it cannot be determined."""
    names = opened.names
    return None if names is None else tuple(name for name in names if name in candidate.files)


@contextmanager
def watch_opened(folder: Path | None, *, certain: bool) -> Iterator[OpenedFiles]:
    """Watches all files in the folder until the context ends.

    `certain`: the programs run on this machine's kernel, so that no report means that nothing was opened. Otherwise at
    least one file has to be reported, such as the program's own.
    """
    descriptor, folders = _watch_folder(folder)
    try:
        yield OpenedFiles(descriptor, folders, certain=certain)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _watch_folder(folder: Path | None) -> tuple[int | None, dict[int, str]]:
    """None if the kernel cannot watch the folder."""
    if folder is None or sys.platform != "linux":
        return None, {}
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None, {}
    folders: dict[int, str] = {}
    for path in _folders(folder):
        watch = library.inotify_add_watch(descriptor, os.fsencode(path), _OPENED)
        if watch < 0 or len(folders) == _MOST_FOLDERS:
            os.close(descriptor)
            return None, {}
        inside = path.relative_to(folder).as_posix()
        folders[watch] = "" if inside == "." else f"{inside}/"
    return descriptor, folders


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            yield path


_REALLY_SENT = ("live", "sealed")


@dataclass(frozen=True, kw_only=True)
class WholeTrials:
    """Implements `Rollouts`."""

    bench: VariantBench
    agents: CandidateAgents
    judge: TrialJudge
    stopping: Event = field(default_factory=Event)
    """Once it is set, no further trial begins."""
    same_kernel: bool = False
    """Whether agents surely run on this machine's kernel, which tells what they open."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None = None, sample: int = 0
    ) -> Generator[Rollout, None, None]:
        """Runs each case once, whatever the `component` and the `sample`: nothing of an earlier run is used.

        Raises UsageError for a case that the suite does not have.
        """
        del component, sample

        def judged(result: VariantResult) -> Rollout:
            done = scored_trial(result)
            (verdict,) = self.judge.verdicts([done])
            return rollout_of(result.request.case.id, candidate, [done[1]], verdict)

        requests = self._requests(candidate, cases)
        with watch_opened(agent_files(requests), certain=self.same_kernel) as opened:
            for _, rollout in self.bench.each(requests, judged, self.stopping):
                yield rollout.model_copy(update={"texts_read": texts_read(candidate, opened)})

    def trials(self, candidate: Candidate, cases: Sequence[str]) -> list["ScoredTrial"]:
        """The cases run under a candidate, before anything is judged."""
        return [scored_trial(result) for result in self.bench.run(self._requests(candidate, cases))]

    def _requests(self, candidate: Candidate, cases: Sequence[str]) -> list[VariantRequest]:
        agent = self.agents.of(candidate)
        variant = TrialVariant(descriptions=candidate.descriptions)
        return [VariantRequest(case=case_of(self.bench.suite, case), variant=variant, agent=agent) for case in cases]


def agent_files(requests: Sequence[VariantRequest]) -> Path | None:
    """The folder of the agent's files, which all requests of a candidate share."""
    agent = requests[0].agent if requests else None
    return None if agent is None else agent.program(requests[0].case).files


ScoredTrial = tuple[Case, Trial, Scorecard]


def scored_trial(result: VariantResult) -> ScoredTrial:
    """Lets go of the files that a trial left, which an optimisation would gather by the hundred."""
    done = result.scored
    if done.archive is not None:
        done.archive.unlink(missing_ok=True)
    return result.request.case, done.trial, done.card


def rollout_of(case_id: str, candidate: Candidate, trials: Sequence[Trial], verdict: TrialVerdict) -> Rollout:
    """The rollout of one case, over the trials that it took."""
    used = [trial.model_use for trial in trials if trial.model_use is not None]
    costs = [one.cost_usd for one in used if one.cost_usd is not None]
    asked = [
        trial.model_tiers.get("live", 0) + sum(trial.tiers.get(tier, 0) for tier in _REALLY_SENT) for trial in trials
    ]
    return Rollout(
        case=case_id,
        candidate=candidate.id,
        domains=verdict.domains,
        criteria=verdict.criteria,
        vetoes=verdict.vetoes,
        feedback=verdict.feedback,
        conversation=verdict.conversation,
        steps=sum(len(trial.trajectory.steps) for trial in trials),
        cost_usd=sum(costs) if costs and len(costs) == len(used) else None,
        tokens=sum(one.input_tokens + one.output_tokens for one in used),
        calls=sum(asked),
    )


@contextmanager
def open_bench(plan: RunPlan, say: Callable[[str], None]) -> Iterator[tuple[VariantBench, CandidateAgents]]:
    """The world of a plan and the agents of its candidates. Raises what `run_plan` raises before its first trial."""
    version, _ = agent_of(plan.suite)
    check_reachable(plan, secret_values(plan.suite))
    with temporary_folder() as staging, open_variants(plan, say, evaluated="causes") as bench:
        yield bench, CandidateAgents(suite=plan.suite, version=version, staging=staging)


@contextmanager
def open_whole_trials(
    plan: RunPlan,
    judge: TrialJudge,
    say: Callable[[str], None] = lambda _: None,
    stopping: Event | None = None,
) -> Iterator[WholeTrials]:
    """Raises as `open_bench` does."""
    same, stopping = not isolates(plan.sandbox), stopping or Event()
    with open_bench(live(plan), say) as (bench, agents):
        yield WholeTrials(bench=bench, agents=agents, judge=judge, stopping=stopping, same_kernel=same)


def live(plan: RunPlan) -> RunPlan:
    """The plan of the agent under optimisation, with live models, and with tools that can answer calls that no
    recording holds, if the suite has such; users and tools of a plan that names another mode keep it.
    """
    version, _ = agent_of(plan.suite)
    tools = variant_tool_mode(plan.suite) if plan.tools == "replay" else plan.tools
    mode: ModelMode | None = None if plan.suite.model is None else "live"
    users = replace(plan.users, mode=plan.users.mode or "live")
    return replace(plan, agent=version, tools=tools, model=mode, users=users)
