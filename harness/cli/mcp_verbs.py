"""Which verbs are served, and how the arguments of a tool become a command line.

Served are verbs that read, and actions that write only into the project. No verb is here that asks a model or a
service, deletes, or takes a path; those that run a stored trial again do it in a container, with the model's recorded
answers and the environment's own services. A test holds the table against that.
"""

from dataclasses import dataclass, field
from typing import Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from harness.errors import UsageError
from harness.values import JsonObject

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}"
"""Of runs and cases: never a path, and never an option."""
_RUN: Final[JsonObject] = {
    "type": "string",
    "pattern": f"^{_NAME}$",
    "description": "A run's name, as `runs` lists it.",
}
_CASE: Final[JsonObject] = {"type": "string", "pattern": f"^{_NAME}$", "description": "A case's id, as in `trials`."}
_SUITE: Final[JsonObject] = {"type": "string", "pattern": f"^{_NAME}$", "description": "A suite's name."}
_ATTEMPT: Final[JsonObject] = {"type": "integer", "minimum": 1, "description": "Which attempt at the case; default 1."}
_SINCE: Final[JsonObject] = {
    "type": "string",
    "pattern": r"^[0-9]{1,5}[dhm]$|^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "description": "7d, 12h, 30m, or a date.",
}
_DAY: Final[JsonObject] = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "description": "A day with scores (UTC).",
}
_SESSION: Final[JsonObject] = {
    "type": "string",
    "maxLength": 500,
    "pattern": r"^[^\x00]+$",
    "description": "Its key, as in `sessions`.",
}
_THEME: Final[JsonObject] = {"type": "string", "pattern": "^[0-9a-f]{4,12}$", "description": "Only it."}
_LAST: Final[JsonObject] = {"type": "integer", "minimum": 1, "maximum": 500, "description": "At most so many."}


@dataclass(frozen=True, kw_only=True)
class ServerTool:
    """One tool of the server: a verb of the command line."""

    name: str
    description: str
    words: tuple[str, ...]
    """The verb, and the options that it always gets."""
    positional: tuple[str, ...] = ()
    """Required arguments, in the order of the command line."""
    arguments: dict[str, JsonObject] = field(default_factory=dict)
    """The schema of each argument; one that is not positional is an option of the same name."""
    required: tuple[str, ...] = ()
    """Options that must be given, besides the positional arguments."""
    writes: bool = False
    runs_agent: bool = False
    """Whether trials are run: that takes longer, and a further call runs and stores further ones."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": [*self.positional, *self.required],
            "additionalProperties": False,
        }

    def command(self, arguments: JsonObject) -> list[str]:
        """The words behind `harness`. Raises UsageError for arguments that the schema does not allow."""
        wrong = best_match(Draft202012Validator(self.schema).iter_errors(arguments))
        if wrong is not None:
            where = "".join(f" `{part}`" for part in wrong.absolute_path)
            raise UsageError(f"arguments of `{self.name}`{where}: {wrong.message}")
        options = [
            f"--{name}" if value is True else f"--{name}={value}"
            for name, value in arguments.items()
            if name not in self.positional and value is not False
        ]
        return [*self.words, *options, "--", *(str(arguments[name]) for name in self.positional)]


_READ = (
    ServerTool(
        name="runs",
        description="List the stored runs: suite, agent, release, how many trials succeeded.",
        words=("runs", "--json"),
        arguments={"suite": _SUITE, "last": _LAST},
    ),
    ServerTool(
        name="trials",
        description="List the trials of a run: outcome, failed checks with reasons, failure modes with their steps.",
        words=("trials", "--json"),
        positional=("run",),
        arguments={"run": _RUN, "failed": {"type": "boolean", "description": "Only those that did not succeed."}},
    ),
    ServerTool(
        name="report",
        description="Summarise a run: rates with intervals, categories, failure modes, metrics, what was not measured.",
        words=("report", "--json"),
        positional=("run",),
        arguments={"run": _RUN},
    ),
    ServerTool(
        name="compare",
        description="Compare two runs, paired by case and attempt: what got better, what got worse, what differs.",
        words=("compare", "--json"),
        positional=("before", "after"),
        arguments={
            "before": _RUN | {"pattern": f"^(baseline:)?{_NAME}$", "description": "A run, or baseline:SUITE."},
            "after": _RUN,
        },
    ),
    ServerTool(
        name="trend",
        description="Show metrics and failure modes of a suite release by release, and what jumped.",
        words=("trend", "--json"),
        positional=("suite",),
        arguments={"suite": _SUITE},
    ),
    ServerTool(
        name="explain",
        description="Show one trial whole: steps, verdicts, diagnoses, the steps at which it most probably went wrong.",
        words=("explain", "--json"),
        positional=("run", "case"),
        arguments={
            "run": _RUN,
            "case": _CASE,
            "attempt": _ATTEMPT,
            "transcript": {
                "type": "string",
                "pattern": r"^[a-z]+(:[A-Za-z0-9_.*-]+)?$",
                "description": (
                    "Instead, what a judge is shown, in pieces with references: `everything`, or a part: claims,"
                    " calls, calls:add_* and others."
                ),
            },
        },
    ),
    ServerTool(
        name="drift",
        description="Show the drift of tools that a run or a probe found; no tool is asked again.",
        words=("drift", "compare", "--stored", "--json"),
        positional=("run",),
        arguments={"run": _RUN},
    ),
    ServerTool(
        name="themes",
        description="Group the failures of a run by cause, ranked by impact; faults of the harness are themes apart.",
        words=("themes", "list", "--json"),
        positional=("run",),
        arguments={"run": _RUN},
    ),
    ServerTool(
        name="production_themes",
        description="Group the failures of production's sessions by cause, ranked by impact; default: of seven days.",
        words=("themes", "list", "--json"),
        arguments={"since": _SINCE, "suite": _SUITE},
    ),
    ServerTool(
        name="issues",
        description="List the issues in the project's folder issues/.",
        words=("issue", "list", "--tracker=folder", "--json"),
    ),
    ServerTool(
        name="sessions",
        description="List sessions of production.",
        words=("online", "sessions", "--json"),
        arguments={"since": _SINCE, "last": _LAST},
    ),
    ServerTool(
        name="session",
        description="Show one session of production: trajectory and scores.",
        words=("online", "sessions", "--json"),
        positional=("session",),
        arguments={"session": _SESSION},
    ),
    ServerTool(
        name="production_report",
        description="Report a day of production as a suite scored it, beside the seven days before; default: the last.",
        words=("online", "report", "--json"),
        positional=("suite",),
        arguments={"suite": _SUITE, "day": _DAY},
    ),
    ServerTool(
        name="production_shifts",
        description="Look for shifts in the scores of production, day by day, with what changed then.",
        words=("online", "watch", "--json"),
        positional=("suite",),
        arguments={"suite": _SUITE},
    ),
)

_ACTIONS = (
    ServerTool(
        name="score",
        description="Score a stored run again with the suite as it is now; earlier scorecards stay. Runs no agent.",
        words=("score", "--json"),
        positional=("run",),
        arguments={"run": _RUN},
        writes=True,
    ),
    ServerTool(
        name="file_drift",
        description="File the drift of a run as issues in the project's folder issues/; no other tracker is reached.",
        words=("issue", "file", "--tracker=folder", "--json"),
        positional=("run",),
        arguments={"run": _RUN, "dry-run": {"type": "boolean", "description": "Only show what would be filed."}},
        writes=True,
    ),
    ServerTool(
        name="file_themes",
        description="File the themes of a run as issues in the project's folder issues/; no other tracker is reached.",
        words=("themes", "file", "--tracker=folder", "--json"),
        positional=("run",),
        arguments={"run": _RUN, "theme": _THEME},
        writes=True,
    ),
    ServerTool(
        name="file_production_themes",
        description=(
            "File the themes of production's sessions as issues in the project's folder issues/, and close those that"
            " stayed away; no other tracker is reached. Default: of seven days."
        ),
        words=("themes", "file", "--tracker=folder", "--json"),
        arguments={"since": _SINCE, "suite": _SUITE, "theme": _THEME},
        writes=True,
    ),
    ServerTool(
        name="case_from_trace",
        description=(
            "Turn a stored trial into a regression case of its suite with its recordings, and say whether it is proven."
            " Runs no agent; overwrites no case."
        ),
        words=("case", "from-trace", "--json"),
        positional=("run", "case"),
        arguments={"run": _RUN, "case": _CASE, "attempt": _ATTEMPT, "suite": _SUITE},
        writes=True,
    ),
    ServerTool(
        name="case_from_session",
        description=(
            "Turn a failed session of production into a regression case of the suite that scored it, with its tools'"
            " answers as recordings, and say what is not known. Runs no agent; overwrites no case."
        ),
        words=("case", "from-trace", "--json"),
        required=("session",),
        arguments={"session": _SESSION, "suite": _SUITE},
        writes=True,
    ),
    ServerTool(
        name="fork",
        description=(
            "Run a stored trial again in a container up to a step, then go on with one change; without a change: is the"
            " agent deterministic? The model's answers are the recorded ones."
        ),
        words=("fork", "--json"),
        positional=("run", "case"),
        required=("at",),
        arguments={
            "run": _RUN,
            "case": _CASE,
            "attempt": _ATTEMPT,
            "at": {"type": "integer", "minimum": 0, "description": "The step, as in `explain`."},
            "oracle": {"type": "boolean", "description": "Make the reference's call in place of the step's."},
            "drop": {"type": "boolean", "description": "Do not make the call of the step."},
            "call": {
                "type": "string",
                "pattern": f"^{_NAME}$",
                "description": "Call this tool instead, with the arguments of the step's own call.",
            },
            "fault": {
                "enum": ["timeout", "reset", "empty", "malformed", "429", "500", "503"],
                "description": "Inject it into the call of the step.",
            },
            "hint": {
                "type": "string",
                "maxLength": 2000,
                "pattern": r"^[^\x00]+$",
                "description": "A further message of the user.",
            },
            "trials": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How often; default 1."},
        },
        writes=True,
        runs_agent=True,
    ),
    ServerTool(
        name="blame",
        description=(
            "Find the earliest change that makes a failed trial succeed, by running it again in containers: at most"
            " `budget` trials. Exit status 1: no cause was confirmed, and the reason is given. The model's answers are"
            " the recorded ones."
        ),
        words=("blame", "--json"),
        positional=("run", "case"),
        arguments={
            "run": _RUN,
            "case": _CASE,
            "attempt": _ATTEMPT,
            "budget": {"type": "integer", "minimum": 2, "maximum": 200, "description": "Trials; default 40."},
            "repeats": {"type": "integer", "minimum": 3, "maximum": 20, "description": "That confirm; default 3."},
        },
        writes=True,
        runs_agent=True,
    ),
)

VERBS: Final = {verb.name: verb for verb in (*_READ, *_ACTIONS)}
"""The tools of the server, by name."""
