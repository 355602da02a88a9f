"""A trial: one attempt at one case, and how it ended."""

from typing import Literal

from harness.trace.page import PageSeen
from harness.trace.trajectory import Trajectory
from harness.values import Frozen, JsonObject, JsonValue

Outcome = Literal["finished", "limit_reached", "agent_failed", "inconclusive", "harness_failed"]
"""`inconclusive` (a replay miss) and `harness_failed` are "not measured": they stand in no denominator."""

MEASURED: frozenset[Outcome] = frozenset({"finished", "limit_reached", "agent_failed"})


class ProgramExit(Frozen):
    """How the agent's program ended, and what it printed."""

    code: int | None
    """Exit status; None where a signal ended it."""
    signal: int | None = None
    timed_out: bool = False
    stdout: str = ""
    """The first `limits.output_kb`; bytes that are not UTF-8 stand as replacement characters."""
    stderr: str = ""
    stdout_bytes: int = 0
    """What was printed in all, the part that was thrown away included."""
    stderr_bytes: int = 0
    duration_s: float | None = None


FileKind = Literal["file", "directory", "link", "other"]


class FileChange(Frozen):
    """One difference between the end state's files and those of the snapshot."""

    path: str
    """Absolute in the sandbox; bytes that are not UTF-8 are surrogate-escaped and written as `\\udcXX`."""
    change: Literal["added", "modified", "deleted"]
    kind: FileKind = "file"
    mode: int | None = None
    size: int | None = None
    sha256: str | None = None
    link: str | None = None


class EndState(Frozen):
    """What the agent left behind. `complete` is False where it was more than the harness reads back."""

    changes: tuple[FileChange, ...] = ()
    complete: bool = True
    problem: str | None = None


class CommandResult(Frozen):
    """What a check's command gave in a sandbox restored to the end state."""

    digest: str
    """Of the command that was run, so that a changed check is not scored with an old result."""
    exit: ProgramExit


class ModelUse(Frozen):
    """What the model's replies in one trial used; where a reply did not tell, tokens are estimated from its length."""

    replies: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    """By the suite's prices; None: no reply had one."""


class Outage(Frozen):
    """A live server, host or model of others that gave no answer after all retries."""

    server: str
    """Its name in the suite; `http:<host>` of a host, `model:<provider>` of a model."""
    tool: str
    """The call that met the outage."""
    reason: str
    answered: bool
    """Whether it had answered anything else in the run."""


class RecordingReport(Frozen):
    """What became of a case's cassette when a trial was recorded onto it: counts of recordings."""

    added: int = 0
    kept: int = 0
    """What the cassette had already."""
    marked: int = 0
    """Of what was kept, recordings that say from where they were taken only since this trial."""
    replaced: int = 0
    dropped: int = 0
    """What rested on a lost write, and was not made again."""
    levelled: int = 0
    """Answers that the agent was given as the cassette has them: today's differ in volatile values or ids only."""
    differing: tuple[str, ...] = ()
    """Tools that answered otherwise than the cassette says; it keeps its own answers unless it is refreshed."""
    failed: dict[str, int] = {}
    """Tool, or `model:<provider>` -> calls that failed for the moment: no connection, a time-out, 503. They are not
    recorded."""
    unsettled: int = 0
    """Answers that were not recorded, since a lost write came before them."""
    advice: tuple[str, ...] = ()
    """What the suite should declare."""

    @property
    def is_whole(self) -> bool:
        """Whether all that the trial was answered is on the cassette."""
        return not (self.failed or self.unsettled)


class Trial(Frozen):
    """One attempt at one case, with all evidence that scoring needs."""

    case_id: str
    attempt: int
    outcome: Outcome
    reason: str | None = None
    """Why the outcome is not `finished`, in words."""
    trajectory: Trajectory
    exit: ProgramExit | None = None
    end_state: EndState | None = None
    states: dict[str, JsonValue] = {}
    """The suite's probes: name -> what the read gave at the end."""
    commands: dict[str, CommandResult] = {}
    service_logs: dict[str, str] = {}
    """The end of what each service printed, where the harness failed for a service."""
    outage: Outage | None = None
    """What was down, where that is why the outcome is `harness_failed`."""
    pages: dict[str, PageSeen] = {}
    """Checks of pages: name -> what stood there at the end."""
    misses: tuple[JsonObject, ...] = ()
    """Replay misses: tool, arguments and the nearest recordings."""
    tiers: dict[str, int] = {}
    """Calls served, by replay tier."""
    exported: bool | None = None
    """Only in trials of releases that sent a trial's spans after it: whether the OTLP endpoint took them."""
    model_tiers: dict[str, int] = {}
    """Requests to models, by replay tier."""
    reused_once_recorded: int = 0
    """Of the reads that were given a recorded answer again, those of tools that were never recorded twice for one call:
    nothing tells whether their answers change by themselves."""
    provenances: dict[str, int] = {}
    """Answers of tools, hosts, models and probes, by where they were taken from: `service`, `double`, `trajectory`,
    `hand`, or `unknown` of recordings that do not say it. What the trial's own sandbox answers is none of them."""
    model_use: ModelUse | None = None
    """None: no model replied."""
    unfired_faults: tuple[str, ...] = ()
    """Faults of the case that no call has met."""
    recording: RecordingReport | None = None
    """What became of the cassette; None: nothing was recorded."""
    unreadable: bool = False
    """What the agent sent or left could not be read, so that every check fails."""
    unsaid_turns: tuple[str, ...] = ()
    """What the scripted user would have said, had its condition ever held."""
    duration_s: float | None = None
