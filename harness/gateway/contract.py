"""The interface of the gateway: requests for sessions, and their records."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pydantic import JsonValue

from harness.sandbox.tables import Table
from harness.suite.cases import Case
from harness.suite.interventions import TrialVariant
from harness.traces.spans import Span
from harness.traces.trial import ModelUse, Outage, RecordingReport, UserReport
from harness.values import JsonObject

SHARED = "shared"
"""The argument of a ServiceOpener if one set of services serves all trials of a run."""


class ServiceOpener(Protocol):
    """Starts the environment's services, restored from a snapshot."""

    def open(self, trial_id: str, snapshot: str | None = None) -> AbstractContextManager[Mapping[str, str]]:
        """Maps service names to base URLs while the context is entered; `trial_id` may be SHARED.

        `snapshot`: the name of the case's own; None: the suite's.

        A mapping that also implements QueryableServices is monitored, and its databases can be queried.
        """
        ...


@runtime_checkable
class QueryableServices(Protocol):
    """The environment's own services: whether they still run, what they print, what their databases hold."""

    def check(self) -> None:
        """Raises ServiceError, with the end of its log, for a service that has stopped."""
        ...

    def tails(self) -> dict[str, str]:
        """The end of the log of each service."""
        ...

    def rows(self, name: str, query: str, timeout_s: float) -> list[JsonValue]:
        """The result of a query.

        Raises QueryFailed if the database refuses, Unmeasurable if it needs more than the limits give,
        ServiceError if the service is not available.
        """
        ...

    def tables(self, name: str, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
        """The rows of the wanted tables (an empty sequence selects all); raises the same errors."""
        ...


@dataclass(frozen=True, kw_only=True)
class SessionRequest:
    """One trial's request for a session."""

    trial_id: str
    """Names the trial; each session of it has a session header of its own on the tool servers."""
    case: Case
    attempt: int
    agent: str
    version: str | None = None
    variant: TrialVariant | None = None
    """How the trial differs from its case; its faults and hints are in `case` already. None: the trial does not
    differ.
    """


@dataclass(frozen=True, kw_only=True)
class SessionRecord:
    """Everything that passed through the gateway in one trial; contains no secret."""

    spans: tuple[Span, ...]
    final_reply: str | None
    """The agent's last reply; None: the agent sent none."""
    states: Mapping[str, JsonValue]
    """Probe name -> result of the read; a failed probe is omitted."""
    misses: tuple[JsonObject, ...]
    """Each distinct one once, the first hundred; `tiers` counts them all."""
    tiers: Mapping[str, int]
    """The number of calls to sources, including probes, by the source of the answer."""
    limit_reached: str | None
    model_tiers: Mapping[str, int] = field(default_factory=dict)
    """The number of requests to models, by the source of the answer."""
    provenances: Mapping[str, int] = field(default_factory=dict)
    """The number of answers of tools, hosts, models and probes, by provenance."""
    used: ModelUse | None = None
    """The usage of the model's replies; None if there was no reply."""
    outage: Outage | None = None
    """A server outside or a model that failed at the last request to it, not by the agent's doing."""
    model_requests: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """See `Trial.model_requests`."""
    out_of_budget: str | None = None
    """Why the run's budget, and no other limit, rejected a call: such a trial measures nothing."""
    recorded: int = 0
    """Recordings that were added to the cassette."""
    differs: int = 0
    """Answers that differ from the cassette's; the cassette keeps its own unless it is refreshed."""
    recording: RecordingReport | None = None
    """What was done with the case's cassette; None: nothing was recorded."""
    unfired_faults: tuple[str, ...] = ()
    """Descriptions of the case's faults that no call triggered."""
    unsaid_turns: tuple[str, ...] = ()
    """Messages that the scripted user did not send."""
    user: UserReport | None = None
    """What the user did; None: the trial has no user but a task."""
