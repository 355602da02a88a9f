"""One trial: restores the snapshot, runs the agent, reads the end state, and determines the outcome."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.case import Case, Suite, TrialVariant, looks_of
from harness.errors import HarnessError, ServiceError, UpstreamUnavailable
from harness.gateway import Gateway, SessionRecord, SessionRequest, TrialSession, model_environment
from harness.os_errors import os_error_in_words
from harness.runner.agent import Agent, AgentProgram
from harness.runner.browsers import BrowserFactory, TrialBrowser
from harness.runner.check_commands import CheckCommands, filled
from harness.runner.databases import FileProbes
from harness.runner.outcome import outcome_of
from harness.runner.own_time import own_time_limit
from harness.runner.unreadable import UnreadableTrial, reading_what_the_agent_left, unreadable_trial
from harness.sandbox import Sandbox, SandboxProvider, SandboxSpec, Snapshot, clean_end_state
from harness.trace import (
    CommandResult,
    EndState,
    Outage,
    ProgramExit,
    Span,
    Trajectory,
    Trial,
    trajectory_from,
    with_final_answer,
)
from harness.upstream import OutOfBudget
from harness.values import JsonValue

if TYPE_CHECKING:
    from harness.sandbox import PreparedTask


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
        `harness_failed`; unreadable data of an agent gives `agent_failed`. Raises OutOfBudget where the
        run's budget ended it.
        """
        started = time.monotonic()
        try:
            trial, spans = self._attempt(case, attempt, archive)
        except HarnessError as error:
            trial, spans = self._failed(case, attempt, error), ()
        except UnreadableTrial as error:
            problem = self.gateway.clean(str(error))
            trial, spans = unreadable_trial(case.id, attempt, self.suite.name, self.agent.name, problem), ()
        except OSError as error:
            trial, spans = self._failed(case, attempt, os_error_in_words(error)), ()
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
            exit_ = _cleaned(exit_, session)
            commands = {name: _cleaned_result(result, session) for name, result in commands.items()}
        if record.out_of_budget is not None:
            raise OutOfBudget(record.out_of_budget)
        with reading_what_the_agent_left():
            trajectory = _trajectory(record, program, exit_)
            if variant is not None and variant.final_answer is not None:
                trajectory = with_final_answer(trajectory, variant.final_answer)
        outcome, reason = outcome_of(case, record, exit_)
        trial = Trial(
            case_id=case.id,
            attempt=attempt,
            outcome=outcome,
            reason=reason,
            trajectory=trajectory,
            exit=exit_,
            end_state=end_state,
            states=states,
            commands=commands,
            pages=pages,
            misses=record.misses,
            tiers=record.tiers,
            model_tiers=record.model_tiers,
            reused_once_recorded=record.reused_once_recorded,
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

    def _failed(self, case: Case, attempt: int, error: HarnessError) -> Trial:
        logs = error.logs if isinstance(error, ServiceError) else {}
        clean = self.gateway.clean
        failed = failed_trial(self.suite, self.agent.name, case.id, attempt, clean(str(error)))
        outage = None
        if isinstance(error, UpstreamUnavailable):
            outage = Outage(server=error.server, tool=error.tool, reason=clean(error.reason), answered=error.answered)
        return failed.model_copy(
            update={"service_logs": {name: clean(text) for name, text in logs.items()}, "outage": outage}
        )


def failed_trial(suite: Suite, version: str, case_id: str, attempt: int, reason: str) -> Trial:
    """A trial in which the harness failed: nothing is known of its agent."""
    return Trial(
        case_id=case_id,
        attempt=attempt,
        outcome="harness_failed",
        reason=reason,
        trajectory=Trajectory(trace_id="", agent=suite.name, version=version, steps=()),
    )


def _cleaned(exit_: ProgramExit, session: TrialSession) -> ProgramExit:
    texts = ("stdout", "stderr", "stdout_end", "stderr_end")
    return exit_.model_copy(update={name: _clean(getattr(exit_, name), session) for name in texts})


def _cleaned_result(result: CommandResult, session: TrialSession) -> CommandResult:
    written = {name: None if text is None else _clean(text, session) for name, text in result.written.items()}
    return result.model_copy(update={"exit": _cleaned(result.exit, session), "written": written})


def _clean(text: str, session: TrialSession) -> str:
    return session.clean(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _trajectory(record: SessionRecord, program: AgentProgram, exit_: ProgramExit) -> Trajectory:
    trajectory = trajectory_from(record.spans)
    if program.answer == "reply":
        return trajectory
    printed = exit_.stdout.strip()
    return trajectory.model_copy(update={"final_output": printed or None})
