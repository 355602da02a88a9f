"""The projection from spans to a trajectory, which all scorers use."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter

from harness.errors import ResultsError
from harness.traces import names
from harness.traces.calls import (
    ReplyCalls,
    began,
    call_of,
    decoded_as,
    fill_results,
    number,
    observation_of,
    own_step,
    reply_step,
    text_in,
    tool_spans,
    unseen,
)
from harness.traces.replies import ObservedReply, replies_in, texts_of
from harness.traces.spans import Span, prompts_of
from harness.traces.trajectory import Step, Trajectory, with_delegations

# Determines the (sub-)agent that a model's reply belongs to, if the data allows it.
#
# The agent's own OpenTelemetry spans name it. Without them, requests with different instructions belong to different
# agents: the beginning of the system prompt, without digits, identifies an agent.

_NAMES = ("gen_ai.agent.name", "agent.name", "llm.agent.name", "graph.node.id")
_KNOWN_BY = 120


class Agents:
    """Names the agents of one trial; the first one that sends a model request is the main agent."""

    def __init__(self, main: str, spans: Sequence[Span]) -> None:
        self._main = main
        self._self_reported_drafts: Mapping[str, Span] = {
            s.span_id: s for s in spans if s.attributes.get(names.ORIGIN) == "agent"
        }
        self._call_names: dict[str, str | None] = {}
        self._around = _Intervals(
            [(s.start_ns, s.end_ns, name) for s in self._self_reported_drafts.values() if (name := _name(s))]
        )
        self._identities: dict[str, str] = {}

    def of(self, span: Span) -> str:
        """The agent that made the request, or whose own span it is."""
        agent = self._by_parent(span) or self._by_time(span)
        if agent is not None or span.span_id in self._self_reported_drafts:
            return agent or self._main
        system = span.attributes.get(names.SYSTEM)
        prompt = re.sub(r"\d+", "", str(system or ""))[:_KNOWN_BY]
        number = len(self._identities) + 1
        return self._identities.setdefault(prompt, self._main if number == 1 else f"{self._main}/{number}")

    def _by_parent(self, span: Span) -> str | None:
        """The name of the nearest agent span above; each span of a chain is visited once, however many lookups there
        are.
        """
        at = (
            span.span_id
            if span.span_id in self._self_reported_drafts
            else str(span.attributes.get(names.ORIGIN_PARENT))
        )
        walked: list[str] = []
        name: str | None = None
        while at in self._self_reported_drafts and at not in self._call_names:
            self._call_names[at] = None  # a chain that leads back to itself ends here
            walked.append(at)
            name = _name(self._self_reported_drafts[at])
            if name is not None:
                break
            at = self._self_reported_drafts[at].parent_id or ""
        else:
            name = self._call_names.get(at)
        self._call_names.update(dict.fromkeys(walked, name))
        return name

    def _by_time(self, span: Span) -> str | None:
        """The innermost agent span around it; None if the agent's clock differs."""
        return self._around.innermost(span.start_ns, span.end_ns)


class _Intervals:
    """Named intervals by their start, with a tree of the latest ends: a lookup takes logarithmic time."""

    def __init__(self, intervals: Sequence[tuple[int, int, str]]) -> None:
        self._sorted = sorted(intervals, key=lambda one: one[0])
        self._starts = [start for start, _, _ in self._sorted]
        self._leaves = 1 << len(self._sorted).bit_length()  # more leaves than intervals
        ends = [end for _, end, _ in self._sorted]
        self._latest = [-1] * self._leaves + ends + [-1] * (self._leaves - len(ends))
        for node in range(self._leaves - 1, 0, -1):
            self._latest[node] = max(self._latest[2 * node], self._latest[2 * node + 1])

    def innermost(self, start: int, end: int) -> str | None:
        """The name of the interval with the latest start that contains all of `start` to `end`."""
        node = self._leaves + bisect_right(self._starts, start)
        while node > 1:  # from right to left over the intervals that begin in time
            if node & 1 and self._latest[node - 1] >= end:
                return self._sorted[self._rightmost(node - 1, end)][2]
            node >>= 1
        return None

    def _rightmost(self, node: int, end: int) -> int:
        while node < self._leaves:
            node = 2 * node + 1 if self._latest[2 * node + 1] >= end else 2 * node
        return node - self._leaves


def _name(span: Span) -> str | None:
    return next((str(span.attributes[name]) for name in _NAMES if span.attributes.get(name)), None)


_PLAN: TypeAdapter[tuple[str, ...] | None] = TypeAdapter(tuple[str, ...] | None)
_STEPS = {names.TURN, names.REPLY, names.TOOL, names.TRAILING_THOUGHT}


def trajectory_from(spans: Iterable[Span], *, final_output: JsonValue = None) -> Trajectory:
    """The steps in order of their start; probes are not steps.

    If the agent's model traffic was observed, each reply is one step, with those of its calls that crossed the gateway
    before the next step began; a call that crossed later is a step at that place. If `final_output` is None, it is the
    agent's last reply to the user, or without one the model's last text. Raises ResultsError if the spans are not a
    trace of this harness.
    """
    given = sorted(spans, key=began)
    ordered = [span for span in given if names.ORIGIN not in span.attributes]
    root = next((span for span in ordered if span.attributes.get(names.OPERATION) == names.INVOKE_AGENT), None)
    if root is None:
        raise ResultsError(
            f"{len(ordered)} spans hold no {names.INVOKE_AGENT!r} span, so they are not the trace of a trial"
        )
    agent = text_in(root, names.AGENT_NAME) or ""
    replies = replies_in(ordered)
    own, agents = tool_spans(given), Agents(agent, given)
    fill_results(replies, own)
    drafts = _drafts(ordered, replies, agent, agents)
    drafts += _self_reported_drafts(root, unseen(own, _call_names(drafts)), agents)
    steps = _numbered(_without_echo(sorted(drafts, key=lambda draft: draft.began)))
    if final_output is None:
        final_output = _final_output(ordered, steps)
    return Trajectory(
        trace_id=root.trace_id,
        agent=agent,
        version=text_in(root, names.AGENT_VERSION),
        steps=steps,
        final_output=final_output,
        prompts=prompts_of(given),
    )


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A step without its index."""

    began: tuple[int, int]
    step: Step
    kind: str
    reply: str | None = None
    """Of a model's reply its own span, of a call that crossed later the reply's that names it."""


def _drafts(ordered: list[Span], replies: list[ObservedReply], agent: str, agents: Agents) -> list[_Draft]:
    """The steps that the gateway observed, and the user's messages that appear only in the model's requests."""
    by_span = {reply.span.span_id: reply for reply in replies}
    named_by = {call.span.span_id: reply for reply in replies for call in reply.calls if call.span is not None}
    has_turns = any(span.attributes.get(names.STEP_KIND) == names.TURN for span in ordered)
    calls, drafts, main = ReplyCalls(), list[_Draft](), agents.of(replies[0].span) if replies else ""
    heard: Counter[str] = Counter()
    for head, crossed in _grouped(ordered, by_span, named_by):
        start, kind, reply = began(head), str(head.attributes.get(names.STEP_KIND)), by_span.get(head.span_id)
        if reply is None:
            named = named_by.get(head.span_id)
            step = _step_of_span(head, agent if named is None else agents.of(named.span))
            more = {
                "calls": step.calls + tuple(map(call_of, crossed)),
                "observations": step.observations + tuple(map(observation_of, crossed)),
            }
            asked_in = None if named is None else named.span.span_id
            drafts.append(_Draft(began=start, step=step.model_copy(update=more), kind=kind, reply=asked_in))
            continue
        asker = agents.of(reply.span)
        if not has_turns and asker == main:
            for text in _newly_said(reply, heard):
                said = Step(index=0, source="user", message=text, evidence="self_reported")
                drafts.append(_Draft(began=start, step=said, kind=names.TURN))
        step = reply_step(reply, crossed, asker, calls)
        drafts.append(_Draft(began=start, step=step, kind=names.MODEL, reply=head.span_id))
    return drafts


def _grouped(
    ordered: list[Span], replies: Mapping[str, ObservedReply], named_by: Mapping[str, ObservedReply]
) -> list[tuple[Span, list[Span]]]:
    """Each span that begins a step, with the calls of the same reply that crossed before the next step.

    A call stands where it crossed: a reply that names it in advance says what the model wanted, not when it was done.
    """
    groups: list[tuple[Span, list[Span]]] = []
    last: ObservedReply | None = None
    for span in ordered:
        reply, named = replies.get(span.span_id), named_by.get(span.span_id)
        if named is not None and named is last:
            groups[-1][1].append(span)
        elif reply is not None or span.attributes.get(names.STEP_KIND) in _STEPS:
            groups.append((span, []))
            last = reply or named
    return groups


def _call_names(drafts: list[_Draft]) -> list[str]:
    return [call.name for draft in drafts for call in draft.step.calls]


def _self_reported_drafts(root: Span, spans: list[Span], agents: Agents) -> list[_Draft]:
    """Steps from the agent's own spans, whose clock may differ: steps outside of the trial's time come last."""
    drafts: list[_Draft] = []
    for span in spans:
        since = span.start_ns - root.start_ns
        start = since if root.start_ns <= span.start_ns <= root.end_ns else root.end_ns - root.start_ns
        step = own_step(span, agents.of(span))
        drafts.append(_Draft(began=(start, span.start_ns), step=step, kind=names.TOOL))
    return drafts


def _newly_said(reply: ObservedReply, heard: Counter[str]) -> list[str]:
    """The user's messages in this request that no earlier request contained."""
    texts = [texts_of(message) for message in reply.asked if message.get("role") == "user"]
    said = [text for text in texts if text is not None]
    again: Counter[str] = Counter()
    new: list[str] = []
    for text in said:
        again[text] += 1
        new += [text] if again[text] > heard[text] else []
    heard.update(new)
    return new


def _without_echo(drafts: list[_Draft]) -> list[_Draft]:
    """Merges a model's answer with the program's reply of the same text to the user into one step."""
    kept: list[_Draft] = []
    for draft in drafts:
        last = kept[-1] if kept else None
        if (
            last is not None
            and (last.kind, draft.kind) == (names.MODEL, names.REPLY)
            and not last.step.calls
            and (last.step.message or "").strip() == (draft.step.message or "").strip()
        ):
            thought = last.step.thought or draft.step.thought
            step = last.step.model_copy(update={"thought": thought, "plan": draft.step.plan})
            kept[-1] = _Draft(began=last.began, step=step, kind=names.REPLY, reply=last.reply)
        else:
            kept.append(draft)
    return kept


def _numbered(drafts: list[_Draft]) -> tuple[Step, ...]:
    """The steps with their indices; a sub-agent's step belongs to the last step of another agent that made calls."""
    main = next((draft.step.agent for draft in drafts if draft.kind == names.MODEL), None)
    steps: list[Step] = []
    latest: list[Step] = []  # of the last two agents that made calls, the latest step each
    replies: dict[str, Step] = {}
    for index, draft in enumerate(drafts):
        asked_in, parent = replies.get(draft.reply or ""), None
        if asked_in is not None:
            parent = asked_in.parent
        elif draft.kind == names.MODEL and draft.step.agent != main:
            parent = next((step.index for step in latest if step.agent != draft.step.agent), None)
        place = {"index": index, "parent": parent, "asked_in": None if asked_in is None else asked_in.index}
        step = draft.step.model_copy(update=place)
        if draft.reply is not None:
            replies.setdefault(draft.reply, step)
        steps.append(step)
        if step.calls:
            latest = [step, *(other for other in latest if other.agent != step.agent)][:2]
    return with_delegations(steps)


def _final_output(ordered: list[Span], steps: tuple[Step, ...]) -> str | None:
    said = [span for span in ordered if span.attributes.get(names.STEP_KIND) == names.REPLY]
    if said:
        return text_in(said[-1], names.MESSAGE)
    own = [step for step in steps if step.source == "agent" and step.parent is None and (step.calls or step.message)]
    last = own[-1] if own else None
    return None if last is None or last.calls else last.message


def _step_of_span(span: Span, agent: str) -> Step:
    by_user = span.attributes[names.STEP_KIND] == names.TURN
    is_call = span.attributes[names.STEP_KIND] == names.TOOL
    return Step(
        index=0,
        source="user" if by_user else "agent",
        agent=None if by_user else agent,
        message=text_in(span, names.MESSAGE),
        thought=text_in(span, names.THOUGHT),
        plan=decoded_as(span, names.PLAN, _PLAN),
        calls=(call_of(span),) if is_call else (),
        observations=(observation_of(span),) if is_call else (),
        started_ns=number(span, names.STARTED_MONOTONIC),
        ended_ns=number(span, names.ENDED_MONOTONIC),
        span_id=span.span_id,
        evidence="observed",
    )
