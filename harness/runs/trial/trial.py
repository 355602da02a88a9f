"""One trial: restores the snapshot, runs the agent, reads the end state, and determines the outcome."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from harness.errors import (
    EngineUnavailable,
    HarnessError,
    SandboxError,
    SandboxLost,
    ServiceError,
    os_error_in_words,
)
from harness.gateway.budgets import OutOfBudget
from harness.gateway.contract import SessionRecord, SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.models.endpoints import model_environment
from harness.gateway.session import TrialSession
from harness.runs.trial.agents import Agent, AgentProgram
from harness.runs.trial.end_state import BrowserFactory, CheckCommands, FileProbes, TrialBrowser, filled
from harness.sandbox.endstate import clean_end_state
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Case
from harness.suite.checks import looks_of
from harness.suite.interventions import TrialVariant
from harness.suite.suites import Suite
from harness.traces.outcomes import Cause, Outcome
from harness.traces.projection import trajectory_from
from harness.traces.spans import Span
from harness.traces.trajectory import Trajectory, with_final_answer
from harness.traces.trial import CommandResult, EndState, Outage, ProgramExit, Trial, UserReport

if TYPE_CHECKING:
    from harness.sandbox.tasks import PreparedTask


_WORDS = {
    Cause.UNREADABLE: "what the agent sent or left could not be read",
    Cause.MEMORY: "the agent used up the memory of its sandbox",
}
Ended = tuple[Cause, str]
"""Why a trial did not finish: the row of the table of outcomes, and the reason in words."""


def cause_of(case: Case, record: SessionRecord, exit_: ProgramExit) -> Ended | None:
    """Why a trial whose agent's program has ended is not `finished`; None: it is."""
    # takes precedence over a miss, which the agent could cause in addition
    if record.user is not None and record.user.steered:
        return Cause.STEERED_USER, f"the agent tried to steer the simulated user: {record.user.steered[0]}"
    misses, most = len(record.misses), case.limits.misses
    if most is not None and misses > most:
        return Cause.MANY_MISSES, f"{misses} call(s) met no recording: more than `limits.misses: {most}` allows"
    if (outage := record.outage) is not None:
        return _cause_of_outage(outage), f"{outage.server} failed at {outage.tool}: {outage.reason}"
    if misses:
        return _cause_of_misses(record, misses)
    has_crashed = not exit_.timed_out and (exit_.signal is not None or exit_.code != 0)
    if not has_crashed and (of_user := _cause_of_user(case, record, exit_)) is not None:
        return of_user  # no fault of a user makes an agent crash: a crash counts
    return _cause_of_agent(case, record, exit_)


def _cause_of_misses(record: SessionRecord, misses: int) -> Ended:
    if misses == 1 and record.user is not None and record.user.ended == "user_diverged":
        return Cause.USER_DIVERGED, f"the agent left the log of its user: {record.user.reason}"
    return Cause.REPLAY_MISS, f"{misses} call(s) met no recording"


def _cause_of_outage(outage: Outage) -> Cause:
    if outage.refused:
        return Cause.NO_MODEL_ANSWERED
    if outage.model is None:
        return Cause.TOOL_OUTAGE
    return Cause.RATE_LIMIT if outage.reason.startswith("429 ") else Cause.MODEL_OUTAGE


def _cause_of_user(case: Case, record: SessionRecord, exit_: ProgramExit) -> Ended | None:
    """The cause if the simulated user failed; None if it did not fail."""
    user = record.user
    if user is None:
        return None
    own_s = None if exit_.duration_s is None else exit_.duration_s - user.waited_s
    if exit_.timed_out and user.waited_s >= case.limits.seconds and own_s is not None and own_s < case.limits.seconds:
        return (
            Cause.INVALID_USER,
            f"the user took {user.waited_s:g} s, {user.waited_s / max(1, user.turns - 1):.0f} s a message",
        )
    if user.invalid is not None:
        cause = Cause.MISLED_USER if user.invalid.misled else Cause.INVALID_USER
        return cause, f"turn {user.invalid.turn}, {user.invalid.fault}: {user.invalid.reason}"
    return None


def _cause_of_agent(case: Case, record: SessionRecord, exit_: ProgramExit) -> Ended | None:
    if record.limit_reached is not None:
        return Cause.LIMIT, record.limit_reached
    if _is_over_time(case, record.user, exit_):
        return Cause.LIMIT, f"the time limit of {case.limits.seconds:g} s"
    if exit_.signal is not None or exit_.code != 0:
        how = f"exited with status {exit_.code}" if exit_.signal is None else f"was ended by signal {exit_.signal}"
        return Cause.CRASH, f"the agent's program {how}"
    return None


def _is_over_time(case: Case, user: UserReport | None, exit_: ProgramExit) -> bool:
    """Whether the agent took more than the time limit, excluding its waits for the user."""
    if exit_.timed_out or user is None or exit_.duration_s is None:
        return exit_.timed_out
    return exit_.duration_s - user.waited_s > case.limits.seconds


_LOOK_EVERY_S: Final = 0.05
"""The minimum interval between checks, for a waiting agent with hardly any time left."""


@contextmanager
def own_time_limit(sandbox: Sandbox, limit_s: float, user_waited_s: Callable[[], float]) -> Iterator[None]:
    """Ends the program of the sandbox once it has run for `limit_s`, excluding its waits for the user."""
    began, ended = time.monotonic(), threading.Event()

    def watch() -> None:
        while (left_s := limit_s - (time.monotonic() - began - user_waited_s())) > 0:
            if ended.wait(max(left_s, _LOOK_EVERY_S)):
                return
        with suppress(SandboxError):  # the thread that runs the program gets the same error
            sandbox.expire()

    watching = threading.Thread(target=watch, name="own-time", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


# Trials whose agent sent or left data that cannot be read; only the affected trial fails.

UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that hostile data can cause if a limit is missing; failures of the engine and the disk raise other
errors.
"""
_LONGEST = 300


class UnreadableTrial(Exception):
    """Data that the agent sent or left could not be read; the message describes the error."""


@contextmanager
def reading_what_the_agent_left() -> Iterator[None]:
    """Converts errors of reading agent-written data into UnreadableTrial."""
    try:
        yield
    except UNREADABLE as error:
        raise UnreadableTrial(described(error)) from error


def described(error: BaseException) -> str:
    """The error's type and the beginning of its message."""
    return f"{type(error).__name__}: {str(error)[:_LONGEST]}"


def unreadable_trial(
    case_id: str, attempt: int, agent: str, version: str, problem: str, cause: Cause = Cause.UNREADABLE
) -> Trial:
    """A trial whose agent failed and whose checks all fail: unreadable data must not score above readable data."""
    return Trial(
        case_id=case_id,
        attempt=attempt,
        outcome=outcome_of(cause),
        cause=cause,
        reason=f"{_WORDS[cause]}: {problem.encode('ascii', 'backslashreplace').decode()}",
        trajectory=Trajectory(trace_id="", agent=agent, version=version, steps=()),
        unreadable=True,
    )


@dataclass(frozen=True, kw_only=True)
class TrialRunner:
    """Everything that the trials of one run share."""

    suite: Suite
    snapshot: Snapshot
    """The suite's: what the trials of cases without one of their own start from."""
    provider: SandboxProvider
    gateway: Gateway
    agent: Agent
    run: str
    images: Mapping[str, str] = field(default_factory=dict)
    """Tags of the images that agents name."""
    browsers: BrowserFactory | None = None
    """None: no trial of the suite needs a browser."""
    variants: Mapping[tuple[str, int], TrialVariant] = field(default_factory=dict)
    """Variants of trials that differ from their case, by case and attempt."""
    tasks: Mapping[str, "PreparedTask"] = field(default_factory=dict)
    """The sandboxes of cases that are task folders, by their ids."""
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    """Snapshots that cases name, by their names."""

    def snapshot_of(self, case: Case) -> Snapshot:
        """What trials of a case that is not a task folder start from."""
        return self.snapshot if case.snapshot is None else self.snapshots[case.snapshot]

    def trial_id(self, case_id: str, attempt: int) -> str:
        """The id of one trial, which no other trial of the run has."""
        return f"{self.run}.{case_id}.{attempt}"

    @cached_property
    def _file_probes(self) -> FileProbes:
        return FileProbes(provider=self.provider)

    def run_trial(self, case: Case, attempt: int, archive: Path) -> tuple[Trial, tuple[Span, ...]]:
        """Runs `case` once; the files that the agent changed go to `archive`, pictures of pages into its folder.

        Never raises HarnessError: failures of the harness or of this machine give the outcome
        `harness_failed`; unreadable data of an agent gives `agent_failed`. Raises OutOfBudget if the
        run's budget ended it.
        """
        started = time.monotonic()
        try:
            trial, spans = self._attempt(case, attempt, archive)
        except HarnessError as error:
            trial, spans = self._failed_trial(case, attempt, error), ()
        except UnreadableTrial as error:
            problem = self.gateway.clean(str(error))
            trial, spans = unreadable_trial(case.id, attempt, self.suite.name, self.agent.name, problem), ()
        except OSError as error:
            trial, spans = self._failed_trial(case, attempt, os_error_in_words(error)), ()
        return trial.model_copy(update={"duration_s": round(time.monotonic() - started, 4)}), spans

    def _attempt(self, case: Case, attempt: int, archive: Path) -> tuple[Trial, tuple[Span, ...]]:
        trial_id = self.trial_id(case.id, attempt)
        variant = self.variants.get((case.id, attempt))
        case = case if variant is None else variant.applied_to(case)
        program = self.agent.program(case)
        request = SessionRequest(
            trial_id=trial_id,
            case=case,
            attempt=attempt,
            agent=self.suite.name,
            version=self.agent.name,
            variant=variant,
        )
        with ExitStack() as stack:
            session = self.gateway.open(request)
            stack.callback(session.close)
            spec = SandboxSpec(
                trial_id=trial_id,
                limits=case.limits,
                image=self.images.get(program.image) if program.image else None,
                agent_files=program.files,
                gateway_socket=session.socket,
                outside=session.outside,
                clock=case.clock,
                cwd=self.tasks[case.id].cwd if case.id in self.tasks else None,
            )
            browsers = self._browsers(session, spec, self.snapshot_of(case), stack)
            begins_with = self._begins_with(case, program)
            exit_, end_state = self._run_program(session, program, spec, begins_with, archive)
            stack.enter_context(_agent_has_begun())
            stack.enter_context(reading_what_the_agent_left())
            pages = {} if browsers is None else browsers.look(looks_of(self.suite, case), archive.parent)
            commands = CheckCommands(
                provider=self.provider,
                snapshot=begins_with,
                task=self.tasks.get(case.id),
                spec=spec,
                archive=archive,
            ).run(self.suite, case)
            record = session.end()
            files = self._file_probes.states(
                (*self.suite.probes, *case.probes), self.snapshot_of(case), archive, trial_id
            )
            states: dict[str, JsonValue] = {**record.states, **json.loads(session.clean(json.dumps(files).encode()))}
            # Removed only now: the checks' commands ran on the unchanged end state.
            if end_state.changes and archive.exists():
                end_state = clean_end_state(archive, session.clean)
            exit_ = _redacted_exit(exit_, session)
            commands = {name: _cleaned_result(result, session) for name, result in commands.items()}
        if record.out_of_budget is not None:
            raise OutOfBudget(record.out_of_budget)
        with reading_what_the_agent_left():
            trajectory = _trajectory(record, program, exit_)
            if variant is not None and variant.final_answer is not None:
                trajectory = with_final_answer(trajectory, variant.final_answer)
        cause, reason = cause_of(case, record, exit_) or (None, None)
        trial = Trial(
            case_id=case.id,
            attempt=attempt,
            outcome=outcome_of(cause),
            reason=reason,
            cause=cause,
            outage=record.outage,
            model_requests=dict(record.model_requests),
            trajectory=trajectory,
            exit=exit_,
            end_state=end_state,
            states=states,
            commands=commands,
            pages=pages,
            misses=record.misses,
            tiers=record.tiers,
            model_tiers=record.model_tiers,
            provenances=record.provenances,
            model_use=record.used,
            unfired_faults=record.unfired_faults,
            recording=record.recording,
            unsaid_turns=record.unsaid_turns,
            user=record.user,
        )
        return trial, record.spans

    def _begins_with(self, case: Case, program: AgentProgram) -> Snapshot:
        task = self.tasks.get(case.id)
        if task is None:
            return self.snapshot_of(case)
        return task.oracle if program.with_solution else task.agent

    def _run_program(
        self, session: TrialSession, program: AgentProgram, spec: SandboxSpec, snapshot: Snapshot, archive: Path
    ) -> tuple[ProgramExit, EndState]:
        sandbox = self.provider.start(spec, snapshot)
        try:
            env = self._models_env(sandbox) | dict(program.env)
            session.attach(sandbox)
            with _agent_has_begun():
                exit_ = self._exec(session, sandbox, program, env, spec)
                session.attach(None)
                return exit_, sandbox.end_state(archive)
        finally:
            session.attach(None)
            sandbox.close()

    def _exec(
        self, session: TrialSession, sandbox: Sandbox, program: AgentProgram, env: Mapping[str, str], spec: SandboxSpec
    ) -> ProgramExit:
        limit_s = spec.limits.seconds
        command = filled(program.command, sandbox, spec.cwd, program.task)
        if not session.user_may_wait:
            return sandbox.exec(command, env, limit_s)
        with own_time_limit(sandbox, limit_s, session.user_waited_s):
            # Each message of the user may take the limit, so that no number of turns uses up the user's time.
            return sandbox.exec(command, env, limit_s * (1 + session.most_user_messages))

    def _browsers(
        self, session: TrialSession, spec: SandboxSpec, snapshot: Snapshot, stack: ExitStack
    ) -> TrialBrowser | None:
        """Attaches the trial's browsers to the session; they are closed with the stack."""
        if self.browsers is None:
            return None
        browsers = TrialBrowser(
            room=self.browsers, session=session, trial_id=spec.trial_id, snapshot=snapshot, clock=spec.clock
        )
        stack.callback(browsers.close)
        session.attach_browser(browsers.agents)
        return browsers

    def _models_env(self, sandbox: Sandbox) -> dict[str, str]:
        spec = self.suite.model
        return {} if spec is None else dict(model_environment(sandbox.places.gateway_url, spec))

    def _failed_trial(self, case: Case, attempt: int, error: HarnessError) -> Trial:
        if isinstance(error, SandboxLost) and error.by == "memory" and error.agent_had_begun:
            return unreadable_trial(case.id, attempt, self.suite.name, self.agent.name, error.message, Cause.MEMORY)
        logs = error.logs if isinstance(error, ServiceError) else {}
        clean = self.gateway.clean
        failed = failed_trial(self.suite, self.agent.name, case.id, attempt, clean(str(error)))
        return failed.model_copy(
            update={
                "service_logs": {name: clean(text) for name, text in logs.items()},
                "cause": _cause_of_failure(error),
            }
        )


def _cause_of_failure(error: HarnessError) -> Cause:
    match error:
        case SandboxLost(by="engine") | EngineUnavailable():
            return Cause.MACHINE
        case _:
            return Cause.BROKEN_OFF if error.agent_had_begun else Cause.MACHINE


@contextmanager
def _agent_has_begun() -> Iterator[None]:
    """Marks what fails from here on: the agent may be the cause."""
    try:
        yield
    except HarnessError as error:
        error.agent_had_begun = True
        raise
    except OSError as error:
        failed = os_error_in_words(error)
        failed.agent_had_begun = True
        raise failed from error


def outcome_of(cause: Cause | None) -> Outcome:
    """What the table of outcomes says of a trial."""
    return "finished" if cause is None else cause.outcome or "finished"


def failed_trial(suite: Suite, version: str, case_id: str, attempt: int, reason: str) -> Trial:
    """A trial in which the harness failed: nothing is known of its agent."""
    return Trial(
        case_id=case_id,
        attempt=attempt,
        outcome="harness_failed",
        cause=Cause.MACHINE,
        reason=reason,
        trajectory=Trajectory(trace_id="", agent=suite.name, version=version, steps=()),
    )


def _redacted_exit(exit_: ProgramExit, session: TrialSession) -> ProgramExit:
    texts = ("stdout", "stderr", "stdout_end", "stderr_end")
    return exit_.model_copy(update={name: _redacted_text(getattr(exit_, name), session) for name in texts})


def _cleaned_result(result: CommandResult, session: TrialSession) -> CommandResult:
    written = {name: None if text is None else _redacted_text(text, session) for name, text in result.written.items()}
    return result.model_copy(update={"exit": _redacted_exit(result.exit, session), "written": written})


def _redacted_text(text: str, session: TrialSession) -> str:
    return session.clean(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _trajectory(record: SessionRecord, program: AgentProgram, exit_: ProgramExit) -> Trajectory:
    trajectory = trajectory_from(record.spans)
    if program.answer == "reply":
        return trajectory
    printed = exit_.stdout.strip()
    return trajectory.model_copy(update={"final_output": printed or None})
