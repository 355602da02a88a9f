"""A trial: one attempt at one case, how it ended, and what was read of its user and its page."""

from typing import Literal

from pydantic import JsonValue

from harness.traces.outcomes import Cause, Outcome
from harness.traces.trajectory import Trajectory
from harness.values import Frozen, JsonObject

REWARD = "reward"
"""Name of the state that holds the reward of a foreign run's own file."""


UserEnding = Literal[
    "goal_reached",
    "gave_up",
    "turn_limit",
    "script_over",
    "agent_left",
    "replay_miss",
    "user_diverged",
    "simulator_failed",
]
"""`goal_reached`, `gave_up`: the user's own decision. `turn_limit`: `max_turns` messages were sent. `script_over`: a
script or a log has no further turn. `agent_left`: the agent ended, or requested no further message. `replay_miss`: no
recording contains the user's answer. `user_diverged`: the agent left the log, and no model plays on.
`simulator_failed`: the user itself failed."""

FaultClass = Literal["no_message", "too_long", "tool_call", "speaks_as_agent", "reveals_secret", "ends_too_early"]
"""What code finds wrong with a message of a simulated user. `speaks_as_agent`: a role's label, a tag, a stage
direction, or the agent's own reply. `reveals_secret`: words of its instructions, or a withheld text before
anything was asked. `ends_too_early`: the end signal in the first turn."""


class UserFault(Frozen):
    """One mistake of a simulated user."""

    turn: int
    """Number of the user's message, from 1 for the opening; that of the missing one if there was none."""
    fault: FaultClass
    reason: str
    """The expected and the actual message."""
    misled: bool = False
    """Whether the model writes a message of a user if the agent's words are left out: the agent may have caused it."""


class Divergence(Frozen):
    """The point at which a logged conversation no longer matched."""

    turn: int
    """Number of the first message of the user that is not the log's, from 1 for the opening."""
    kind: Literal["opening", "calls", "words"]
    """What differed first: the case's task from the log's opening, a call, or the agent's words."""
    reason: str
    """The first call, or the first words, that differ."""


class EntailmentVerdict(Frozen):
    """What the model of `entailment:` found of one turn of an agent that is not equal to the log's."""

    turn: int
    """Number of the user's message that the agent answered, from 1."""
    log: JsonObject
    """`said` and `calls` of the log's turn."""
    agent: JsonObject
    """The agent's, in the same form."""
    verdict: Literal["same", "different", "unanswered"]
    """`unanswered`: no recording holds the question, or the answer cannot be read."""
    reason: str
    """The model's reason, or why it was not asked."""


class UserReport(Frozen):
    """The user of one trial."""

    kind: str
    """`script`, `model`, `logged`, or the name of an installed user."""
    ended: UserEnding
    reason: str | None = None
    """The reason for the end."""
    turns: int
    """Messages of the user, including the opening."""
    persona: str | None = None
    model: str | None = None
    """The model that played the user; None: no model did."""
    replayed: int | None = None
    """Messages after the opening that were the log's own; None: no log was used."""
    logged: int | None = None
    """Messages after the opening that the log has; None: no log was used."""
    entailments: tuple[EntailmentVerdict, ...] = ()
    """What the model of `entailment:` was asked, in order."""
    generated: int | None = None
    """Messages after the opening that a model wrote; None if there is no model."""
    divergence: Divergence | None = None
    """None: every message was the log's, or no log was used."""
    faults: tuple[UserFault, ...] = ()
    """What code found wrong with the user's messages; the first makes the trial `simulator_failed`."""
    steered: tuple[str, ...] = ()
    """The agent's replies with the user's stop signal, or with the very words that made it fail, by turn: such a trial
    counts, as failed.
    """
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """The cost of the user's model; None if no price is known."""
    waited_s: float = 0.0
    """Seconds that the agent waited for the user."""

    @property
    def entailed(self) -> int:
        """Turns that the model of `entailment:` found to tell the user the same."""
        return sum(one.verdict == "same" for one in self.entailments)

    @property
    def invalid(self) -> UserFault | None:
        """The first fault, which invalidates the conversation; None if it is valid, or the agent steered the user."""
        return None if self.steered else next(iter(self.faults), None)


# A web page as it was when the agent had ended, as stored evidence.


class ElementSeen(Frozen):
    """One element."""

    text: str
    """The displayed text; the first 4,000 characters."""
    value: str | None = None
    """The value of a form field; None: the element is not a form field."""
    checked: bool | None = None
    visible: bool = True
    attributes: dict[str, str | None] = {}
    """The requested attributes; None if the element lacks it."""


class ElementsSeen(Frozen):
    """All elements that match one selector."""

    count: int
    elements: tuple[ElementSeen, ...] = ()
    """The first fifty, in the order of the page."""
    problem: str | None = None
    """Why the selector is invalid."""


class PageSeen(Frozen):
    """One page."""

    digest: str
    """The digest of the page read, so that a changed check is not scored with an old result."""
    url: str | None = None
    """The browser's URL at the end."""
    title: str | None = None
    status: int | None = None
    """The HTTP status of the page; None: unknown."""
    found: dict[str, ElementsSeen] = {}
    problem: str | None = None
    """A description of the reason why no page could be read."""
    screenshot: str | None = None
    """A PNG in the trial's folder."""


class ProgramExit(Frozen):
    """How the agent's program ended, and its output."""

    code: int | None
    """Exit status; None if a signal ended it."""
    signal: int | None = None
    timed_out: bool = False
    stdout: str = ""
    """The first `limits.output_kb`; bytes that are not UTF-8 appear as replacement characters."""
    stderr: str = ""
    stdout_end: str = ""
    """The last complete lines, at most 16 KB and `limits.output_kb`; empty if nothing was discarded."""
    stderr_end: str = ""
    stdout_bytes: int = 0
    """The total number of printed bytes, including the discarded part."""
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
    """What the agent left behind. `complete` is False if it exceeds the limits of the harness."""

    changes: tuple[FileChange, ...] = ()
    complete: bool = True
    problem: str | None = None


class CommandResult(Frozen):
    """The result of a check's command in a sandbox restored to the end state."""

    digest: str
    """The digest of the command, so that a changed check is not scored with an old result."""
    exit: ProgramExit
    written: dict[str, str | None] = {}
    """Names of the files in which tests of a task folder give their reward, and what is in them; None: it cannot be
    read."""


class ModelUse(Frozen):
    """The usage of the model's replies in one trial; if a reply reports none, tokens are estimated from
    its length.
    """

    replies: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    """The cost by the suite's prices; None: no reply had a price."""


class Outage(Frozen):
    """An external live server, host or model that gave no answer, or failed, to the last call of it."""

    server: str
    """Its name in the suite; `http:<host>` of a host, `model:<provider>` of a model."""
    tool: str
    """The call that met the outage."""
    reason: str
    answered: bool
    """Whether it had answered any other request in the run."""
    model: str | None = None
    """The model that was asked for."""
    refused: bool = False
    """Whether a model refused the request (404, 401): that is an outage only if it refused all requests of the run."""


class RecordingReport(Frozen):
    """The changes to a case's cassette by recording a trial: counts of recordings."""

    added: int = 0
    kept: int = 0
    """Recordings that the cassette had already."""
    replaced: int = 0
    levelled: int = 0
    """The number of answers that the agent received as the cassette has them: the live ones differ only in volatile
    values or ids.
    """
    differing: tuple[str, ...] = ()
    """Tools whose answers differ from the cassette, which keeps its own answers unless it is refreshed."""
    failed: dict[str, int] = {}
    """Tool, or `model:<provider>` -> calls that ended in a transient error: no connection, a timeout, 503. They are not
    recorded."""
    unreadable: dict[str, int] = {}
    """Tool -> answers that are too large, or not in the tool's protocol. They are not recorded, by any further try."""
    ignored: dict[str, int] = {}
    """Rule of `ignore` that was applied -> requests from whose keys it left something out."""
    unsettled: int = 0
    """The number of answers that were not recorded, because a lost write came before them."""


class Trial(Frozen):
    """One attempt at one case, with all evidence that scoring needs."""

    case_id: str
    attempt: int
    outcome: Outcome
    reason: str | None = None
    """Why the outcome is not `finished`."""
    cause: Cause | None = None
    """The row of the table of outcomes; None: it finished, or is of another program."""
    trajectory: Trajectory
    exit: ProgramExit | None = None
    end_state: EndState | None = None
    states: dict[str, JsonValue] = {}
    """The suite's probes: name -> result of the read at the end."""
    commands: dict[str, CommandResult] = {}
    service_logs: dict[str, str] = {}
    """The end of what each service printed, if the harness failed for a service."""
    outage: Outage | None = None
    """The unavailable service, if it is the cause of the outcome `harness_failed`."""
    model_requests: dict[str, tuple[int, int]] = {}
    """`model:<provider>/<model>` -> live requests for it, and how many of them were answered."""
    pages: dict[str, PageSeen] = {}
    """Maps checks of pages by name to the page's content at the end."""
    misses: tuple[JsonObject, ...] = ()
    """Replay misses: tool, arguments and the nearest recordings."""
    tiers: dict[str, int] = {}
    """Calls served, by replay tier."""
    model_tiers: dict[str, int] = {}
    """Requests to models, by replay tier."""
    provenances: dict[str, int] = {}
    """The number of answers of tools, hosts, models and probes by their source: `service`, `double`, `trajectory`,
    `hand`, or `unknown` for recordings that do not state it. Answers of the trial's own sandbox are not counted.
    """
    model_use: ModelUse | None = None
    """None: no model replied."""
    unfired_faults: tuple[str, ...] = ()
    """Faults of the case that no call triggered."""
    recording: RecordingReport | None = None
    """The changes to the cassette; None: nothing was recorded."""
    unreadable: bool = False
    """Whether the agent's data could not be read, so that every check fails."""
    unsaid_turns: tuple[str, ...] = ()
    """Messages of the scripted user whose conditions never held."""
    user: UserReport | None = None
    """The report of the user; None: the trial has a task but no user, or is older than this field."""
    duration_s: float | None = None
