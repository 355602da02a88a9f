"""One failure: one thing that went wrong in one session or trial, with what is known of its cause.

All texts come from sessions and are untrusted: identifiers are cleaned and cut here, at the only place where a Failure
is made of one.
"""

import unicodedata
from typing import Final, Literal

from harness.values import Frozen

HarnessFault = Literal[
    "judge_false_positive",
    "judge_failed",
    "tracing_gap",
    "invalid_user",
    "replay_miss",
    "harness_failed",
]
"""Faults of the harness itself. `judge_false_positive`: a person's label contradicts a failing judgement.
`judge_failed`: the judge gave no usable answer. `tracing_gap`: the spans cannot be read as a session, or leave out what
was said and done. `invalid_user`: the simulated user invalidated the conversation. `replay_miss`: no recording answers
a call. `harness_failed`: the harness could not run the trial.
"""

Weight = Literal["failed", "harness", "noticed"]
SEVERITIES: Final[dict[Weight, float]] = {"failed": 1.0, "harness": 0.5, "noticed": 0.3}
"""`failed`: a check or a criterion failed, or the agent crashed. `harness`: the session could not be measured.
`noticed`: a failure mode was found in a session of which no check failed."""

MOST_TEXT: Final = 2_000
_MOST_NAME: Final = 80
_HIDDEN: Final = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


class Cause(Frozen):
    """What the evidence says about why it failed; empty texts where it says nothing. It is part of a theme's identity.

    A tool's error takes precedence over a failure mode: agents react to one error in many ways.
    """

    mode: str = ""
    """`<failure>/<kind>` of the leading finding, such as `tool_hallucination/invented_tool`."""
    tool: str = ""
    """The tool of the call at which it began."""
    error: str = ""
    """The class of that tool's error, such as `timeout`."""


class SessionFailure(Frozen):
    """One failed check or criterion of one session, or what else went wrong in it."""

    session: str
    """The session's key, or `<run>/<case>/<attempt>` of a trial."""
    case: str
    """The case that was run; "" for sessions of production."""
    criterion: str
    """`check:<name>`, `criterion:<id>`, or "" where nothing was checked."""
    fault: HarnessFault | None = None
    """None: a failure of the agent or of its tools."""
    cause: Cause = Cause()
    also: tuple[str, ...] = ()
    """Failure modes that were found at the step at which the cause began."""
    weight: Weight = "failed"
    text: str = ""
    """What the harness, a judge or a tool said about it: what failures of one cause are told apart by."""
    step: int | None = None
    """Index of the step at which it began; None: not known."""
    span: str = ""
    """The id of that step's span; "" where it has none."""
    release: str = ""
    received_ns: int = 0
    """When the session's last record was received, in nanoseconds since the epoch; of a run its start."""
    inverse_rate: float = 1.0
    """How many sessions of production it stands for: 1 / the rate with which it was sampled."""


def cleaned(text: str, most: int = _MOST_NAME) -> str:
    """On one line, without control and format characters, of at most `most` characters."""
    head = text[: 4 * most]
    plain = "".join(" " if unicodedata.category(char) in _HIDDEN else char for char in head)
    joined = " ".join(plain.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"
