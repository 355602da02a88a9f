"""The counters and data that one session collects during a trial."""

from collections import Counter
from dataclasses import dataclass, field

from harness.cassettes.keys import CallKey
from harness.gateway.budgets import Budget
from harness.gateway.upstream.sources import ToolAnswer
from harness.gateway.user import HeardCall
from harness.suite.models import CalledKind, Doubles, Provenance
from harness.traces.recorder import Volume
from harness.traces.trajectory import ReplayTier
from harness.traces.trial import ModelUse, Outage
from harness.values import JsonObject, canonical_json

_MAX_MISSES = 100
_MAX_MODELS = 100
_MAX_HEARD_CALLS = 10_000


@dataclass(kw_only=True)
class Ledger:
    """The counts of one trial. Used on the gateway's own thread only."""

    steps: int
    """The number of calls that the case allows."""
    tokens: int | None = None
    """The number of tokens that the case allows, input and output together; None: no limit."""
    cost_usd: float | None = None
    """The cost that the case allows; None: no limit."""
    tool_budget: Budget | None = None
    model_budget: Budget | None = None
    """The run's budget; None: the trial's requests cost nothing."""
    requests: int = 0
    """Of the agent, in whichever channel."""
    calls: int = 0
    doubles: Doubles = field(default_factory=Doubles)
    """Which of the suite's servers and hosts are doubles of real ones."""
    tiers: Counter[ReplayTier] = field(default_factory=Counter)
    provenances: Counter[str] = field(default_factory=Counter)
    """Answers of tools, hosts, models and probes, by provenance."""
    answered: set[str] = field(default_factory=set)
    """Tools that the agent has called without an error."""
    heard_calls: list[HeardCall] = field(default_factory=list)
    """The agent's tool calls in the order in which they ended, for users that compare them."""
    model_tiers: Counter[ReplayTier] = field(default_factory=Counter)
    unrecorded_replies: Counter[str] = field(default_factory=Counter)
    """`model:<provider>` -> requests to it whose answer was to be recorded, but was a transient error."""
    outages: dict[str, Outage] = field(default_factory=dict)
    """The servers outside, and models, that failed at the last request to them."""
    model_requests: dict[str, tuple[int, int]] = field(default_factory=dict)
    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    spent_usd: float | None = None
    """None until a reply with a price was returned."""
    out_of_budget: str | None = None
    """Why a call was rejected that the case's own limits would have allowed."""
    misses: list[JsonObject] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    """Rule of `ignore` -> the requests in which it has found something; of rules that were applied."""
    limit_reached: str | None = None
    final_reply: str | None = None
    thoughts: list[str] = field(default_factory=list)
    plan: tuple[str, ...] | None = None
    volume: Volume = field(default_factory=Volume)
    """What the trial has asked for and has had written, in all channels."""

    def admits_call(self) -> tuple[bool, bool]:
        """Counts a call; returns whether it is within the case's limit, and whether it is traced.

        Of the calls beyond the limit only the first is traced: an agent in an endless loop must not fill the disk.
        """
        self.calls += 1
        if self.calls <= self.steps:
            return True, True
        self.limit_reached = self.limit_reached or f"{self.steps} tool calls"
        return False, self.calls == self.steps + 1

    def refuses_request(self) -> str | None:
        """Counts a request of the agent, in whichever channel; returns why it is refused."""
        self.requests += 1
        volume = self.volume
        if volume.written > volume.most_bytes:
            reached = f"{volume.most_bytes} bytes of trace and recordings"
        elif self.requests > volume.most_requests:
            reached = f"{volume.most_requests} requests"
        else:
            return None
        self.limit_reached = self.limit_reached or reached
        return f"the limit of {reached} is reached"

    def within_budget(self, tool: str) -> bool:
        """Counts a call against the run's budget; False if nothing is left for it."""
        if self.tool_budget is None or self.tool_budget.admits_call(tool):
            return True
        self.out_of_budget = self.limit_reached = self.tool_budget.reached
        return False

    def count(self, kind: CalledKind, key: CallKey, answer: ToolAnswer) -> None:
        """Counts an answer by its source."""
        self.tiers[answer.tier] += 1
        if answer.outcome == "answer":
            self.count_provenance(kind, answer.tier, key, answer.provenance)

    def count_provenance(
        self, kind: CalledKind, tier: ReplayTier, key: CallKey, recorded: Provenance | None = None
    ) -> None:
        """Counts an answer. `recorded` is the provenance in its recording, if it was replayed."""
        if tier in ("live", "sealed"):
            declared = self.doubles.provenance(kind, key.server, key.arguments)
            self.provenances.update(() if declared is None else (declared,))
        elif tier == "fixture":
            self.provenances["hand"] += 1
        elif recorded is not None and tier not in ("fault", "miss"):
            self.provenances[recorded] += 1

    @property
    def counts_cost(self) -> bool:
        return self.cost_usd is not None or (self.model_budget is not None and self.model_budget.usd is not None)

    def refuses_model(self) -> str | None:
        """Why further model requests are rejected: the limit applies to the request after the one that reached it."""
        if self.model_budget is not None and not self.model_budget.admits_model():
            self.out_of_budget = self.model_budget.reached
            return self.out_of_budget
        reached = None
        if self.tokens is not None and self.input_tokens + self.output_tokens >= self.tokens:
            reached = f"{self.tokens} tokens"
        elif self.cost_usd is not None and (self.spent_usd or 0.0) >= self.cost_usd:
            reached = f"{self.cost_usd:g} USD"
        self.limit_reached = self.limit_reached or reached
        return reached

    @property
    def used(self) -> ModelUse | None:
        """The usage of the model's replies; None if there was no reply."""
        if not self.replies and not self.input_tokens:
            return None
        return ModelUse(
            replies=self.replies,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.spent_usd,
        )

    def charge(
        self, *, input_tokens: int, output_tokens: int, usd: float | None, real: bool, is_reply: bool = True
    ) -> None:
        """Counts the usage of a model's reply, or of embeddings (not `is_reply`); `real` states that the provider was
        called, so that the run's budget is charged.
        """
        self.replies += is_reply
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        if usd is not None:
            self.spent_usd = (self.spent_usd or 0.0) + usd
        if real and self.model_budget is not None:
            self.model_budget.charge(input_tokens + output_tokens, usd)

    def think(self, text: str, plan: tuple[str, ...] | None) -> None:
        """Keeps a thought for the agent's next step; a later plan replaces an earlier one."""
        self.volume.add(len(text))
        self.thoughts.append(text)
        self.plan = self.plan if plan is None else plan

    def miss(self, missed: JsonObject) -> None:
        """Counts a miss, and keeps it once, however often the agent repeats the call."""
        self.tiers["miss"] += 1
        self.keep_miss(missed)

    def keep_miss(self, missed: JsonObject) -> None:
        """Keeps a miss that is counted elsewhere."""
        if missed not in self.misses and len(self.misses) < _MAX_MISSES:
            self.volume.add(len(canonical_json(missed)))
            self.misses.append(missed)

    def count_model_request(self, server: str, model: str, *, answered: bool) -> None:
        """Counts a live request, of the first names that the agent made up one by one."""
        name = f"{server}/{model}"
        if name in self.model_requests or len(self.model_requests) < _MAX_MODELS:
            asked, were = self.model_requests.get(name, (0, 0))
            self.model_requests[name] = (asked + 1, were + answered)

    def hear_call(self, call: HeardCall) -> None:
        """Keeps a call for the user's next decision, within a bound."""
        if len(self.heard_calls) < _MAX_HEARD_CALLS:
            self.heard_calls.append(call)

    def take_thought(self) -> tuple[str | None, tuple[str, ...] | None]:
        """Returns and clears the thoughts since the last step."""
        thought, plan = "\n".join(self.thoughts) if self.thoughts else None, self.plan
        self.thoughts, self.plan = [], None
        return thought, plan
