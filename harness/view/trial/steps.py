"""The timeline of a trial: turns, in them what the model decided, in that the calls of tools and their answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.score import Diagnosis
from harness.trace import Observation, Step, ToolCall, Trial
from harness.view.markup import Markup, fragment, link, tag
from harness.view.trial.texts import folded_value, shown_text
from harness.view.wording import bounded, chip, money, words

PER_PAGE = 500
_FEW = 60
_LONG, _SHORT = 4000, 1200
_NS_IN_MS = 1_000_000
_SETTLED = ("exact", "exact_reused", "live", "sealed")
_REPLAYED = ("exact", "exact_reused", "earlier_state", "volatile_reused")
_MOST_CALLS = 100


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What the steps of one page of the timeline need to know."""

    base: str
    """Address of the trial."""
    trial: Trial
    diagnoses: Sequence[Diagnosis] = ()
    recorded: bool = False
    """Whether there are recordings of the case: replayed calls lead to theirs."""
    number: int = 1
    """Of the page, where the trial has very many steps."""

    @property
    def limit(self) -> int:
        """Characters of one text."""
        return _LONG if len(self.trial.trajectory.steps) <= _FEW else _SHORT

    @property
    def steps(self) -> Sequence[Step]:
        first = (self.number - 1) * PER_PAGE
        return self.trial.trajectory.steps[first : first + PER_PAGE]


def timeline(own: Timeline) -> Markup:
    """All steps of the page, by turns: a turn begins with what the user or the system says."""
    found = origins(own.diagnoses)
    turns: list[list[Markup]] = [[]]
    for step in own.steps:
        if step.source != "agent" and turns[-1]:
            turns.append([])
        turns[-1].append(one_step(step, own, found))
    parts = [tag("ol", *turn, class_="turn") for turn in turns if turn]
    return tag("div", *parts, class_="steps")


def origins(diagnoses: Sequence[Diagnosis]) -> Mapping[int, Sequence[Diagnosis]]:
    """The findings by the step in which they begin."""
    found: dict[int, list[Diagnosis]] = {}
    for one in diagnoses:
        if one.origin_step is not None:
            found.setdefault(one.origin_step, []).append(one)
    return found


def one_step(step: Step, own: Timeline, found: Mapping[int, Sequence[Diagnosis]], limit: int | None = None) -> Markup:
    """One decision. What only the agent reports is marked as such, apart from what the gateway observed."""
    most = own.limit if limit is None else limit
    whole = f"{own.base}/steps/{step.index}"
    reported = step.evidence == "self_reported"
    parts: list[Markup] = [_head(step, own, reported)]
    if step.thought is not None:
        parts.append(tag("div", chip("thought"), shown_text(step.thought, most, whole), class_="thought"))
    if step.plan is not None:
        parts.append(
            tag("div", chip("plan"), tag("ol", *(tag("li", bounded(one)) for one in step.plan[:100])), class_="plan")
        )
    if step.message is not None:
        parts.append(shown_text(step.message, most, whole))
    parts += _calls(step, own, most, whole)
    parts += [_finding(one) for one in found.get(step.index, ())]
    kind = _kind(step)
    return tag(
        "li",
        *parts,
        id=f"step-{step.index}",
        class_=f"step is-{kind}{' reported' if reported else ''}",
        tabindex="-1",
        data_part=True,
    )


def _head(step: Step, own: Timeline, reported: bool) -> Markup:
    usage = step.usage
    said = [step.model or ""]
    if usage is not None:
        said += [f"{usage.input_tokens} → {usage.output_tokens} tokens" if usage.input_tokens is not None else ""]
        said += [money(usage.cost_usd) if usage.cost_usd is not None else ""]
    if step.started_ns is not None and step.ended_ns is not None:
        said.append(f"{(step.ended_ns - step.started_ns) / _NS_IN_MS:.0f} ms")
    marks = [chip("self-reported", "open")] if reported else []
    request = None
    if step.model is not None and step.span_id is not None:
        path = f"{own.base}/requests/{step.index}"
        request = tag("button", "Request", type="button", class_="quiet small", data_load=path, data_into="after")
    return tag(
        "header",
        link(f"#step-{step.index}", f"{step.index}", class_="index"),
        tag("span", step.source if step.agent is None else f"{step.source} · {bounded(step.agent, 80)}", class_="who"),
        *marks,
        tag("span", " · ".join(one for one in said if one), class_="time"),
        request,
    )


def _calls(step: Step, own: Timeline, most: int, whole: str) -> Iterator[Markup]:
    """A step's own answers first: identifiers of calls come from the agent, and may be used twice."""
    seen = {one.call_id: one for one in step.observations}
    for place, call in enumerate(step.calls[:_MOST_CALLS]):
        answer = seen.pop(call.id, None)
        replayed = own.recorded and answer is not None and answer.replayed in _REPLAYED
        recording = f"{own.base}/recordings/{step.index}/{place}" if replayed else None
        yield _call(call, answer, most, whole, recording)
    if len(step.calls) > _MOST_CALLS:
        yield tag("p", f"{len(step.calls) - _MOST_CALLS} more calls", class_="cut")
    for rest in list(seen.values())[:_MOST_CALLS]:
        yield _call(None, rest, most, whole)


def _call(
    call: ToolCall | None, seen: Observation | None, most: int, whole: str, recording: str | None = None
) -> Markup:
    parts: list[Markup] = []
    marks: list[Markup] = []
    if call is not None and call.arguments is not None:
        parts.append(folded_value("asked", call.arguments, most, whole))
    elif call is not None:
        parts.append(folded_value("asked, not as JSON", call.unparsed or "", most, whole))
        marks.append(chip("not JSON", "bad"))
    if seen is not None:
        marks += _marks(seen)
        if seen.error is not None:
            parts.append(tag("p", f"{words(seen.error.type)}: {bounded(seen.error.message, most)}", class_="error"))
        if seen.content is not None or seen.error is None:
            parts.append(folded_value("answered", seen.content, most, whole))
    else:
        parts.append(tag("p", "no answer was observed", class_="dim"))
    if "self_reported" in (None if call is None else call.evidence, None if seen is None else seen.evidence):
        marks.append(chip("self-reported", "open"))
    if recording is not None:
        marks.append(
            tag(
                "button",
                "Recording",
                type="button",
                class_="quiet small",
                data_load=recording,
                data_into="after",
                data_under=".call",
            )
        )
    name = "an answer to no call" if call is None else bounded(call.name, 200)
    return tag("div", tag("div", tag("span", name, class_="tool"), *marks, class_="call-head"), *parts, class_="call")


def _marks(seen: Observation) -> list[Markup]:
    marks = []
    if seen.replayed is not None:
        marks.append(chip(words(seen.replayed), "" if seen.replayed in _SETTLED else "open"))
    if seen.injected is not None:
        marks.append(chip(f"injected: {bounded(seen.injected, 60)}", "open"))
    if seen.duration_ms is not None:
        marks.append(tag("span", f"{seen.duration_ms:.0f} ms", class_="time"))
    return marks


def _finding(one: Diagnosis) -> Markup:
    later = [link(f"#step-{step}", str(step)) for step in one.dependent_steps[:12]]
    follows = fragment(" → steps ", *(fragment(step, " ") for step in later)) if later else None
    prevention = tag("p", f"prevention: {bounded(one.prevention)}") if one.prevention is not None else None
    head = tag("strong", f"{words(one.failure)} ({words(one.kind)}, confidence {one.confidence:.2f})")
    return tag("div", head, f": {bounded(one.evidence)}", follows, prevention, class_="finding")


def _kind(step: Step) -> str:
    if any(one.error is not None for one in step.observations):
        return "error"
    if step.calls:
        return "call"
    return step.source if step.source != "agent" else "reply" if step.message is not None else "thought"
