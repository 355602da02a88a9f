"""The parts of a trial's page: its steps, findings, requests, recordings and end state."""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from harness.cassettes.check import ShownRecording, cassette_paths, shown_cassette
from harness.errors import HarnessError
from harness.judging.verdicts import Judgement
from harness.reports.durations import printed_ends
from harness.reports.pages.markup import (
    PER_PAGE,
    UNKNOWN,
    Child,
    Markup,
    block,
    bounded,
    chip,
    facts,
    fold,
    folded_value,
    fragment,
    link,
    loads,
    path_of,
    row,
    shown_text,
    success_mark,
    table,
    tag,
    term,
    value_text,
    words,
)
from harness.reports.pages.plots import Stretch, duration, waterfall
from harness.reports.pages.sources import Sources
from harness.reports.render.trajectory import model_requests
from harness.reports.render.wording import printed_head
from harness.reports.units import dollars
from harness.runs.store.beside_trials import KeptCause, stored_reference_states
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.scoring.evidence import Verdict
from harness.scoring.rules.learned import RuleResult, broken
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.traces.trial import ProgramExit, Trial
from harness.values import JsonObject

# The timeline of a trial: turns, in them what the model decided, in that the calls of tools and their answers.

STEPS = 500
_FEW = 60
_LONG_STEP, _SHORT = 4000, 1200
_NS_IN_MS = 1_000_000
_SETTLED = ("exact", "exact_reused", "live", "sealed")
_REPLAYED = ("exact", "exact_reused", "volatile_reused")
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
    texts: int | None = None
    """Characters of one text on a page that is written to a file."""
    sources: Sources | None = None
    """Set where values lead to the calls that they came from."""
    beside: bool = False
    """Whether the steps stand beside those of another trial, and not on the trial's own page."""

    @property
    def limit(self) -> int:
        """Characters of one text."""
        if self.texts is not None:
            return self.texts
        return _LONG_STEP if len(self.trial.trajectory.steps) <= _FEW else _SHORT

    @property
    def steps(self) -> Sequence[Step]:
        """Those of the page."""
        first = (self.number - 1) * STEPS
        return self.trial.trajectory.steps[first : first + STEPS]


def step_place(step: int, own: Timeline | None = None) -> str:
    """The address of a step, for a page with the timeline `own`; None: on one that has every step."""
    page = step // STEPS + 1
    if own is None or (page == own.number and not own.beside):
        return f"#step-{step}"
    return f"{own.base}?page={page}#step-{step}" if page > 1 else f"{own.base}#step-{step}"


def marking(own: Timeline, step: int) -> Callable[[str], Child]:
    """What makes links of the values in a text of the step."""
    sources = own.sources
    return str if sources is None else lambda text: sources.linked(text, step, lambda source: step_place(source, own))


def by_time(own: Timeline) -> Markup | None:
    """The steps of the page as a waterfall; None if their times are not known."""
    spans = [
        Stretch(
            name=f"{step.index} {bounded(', '.join(call.name for call in step.calls) or step.source, 60)}",
            start_ms=step.started_ns / _NS_IN_MS,
            end_ms=max(step.started_ns, step.ended_ns) / _NS_IN_MS,
            kind=_kind(step),
            href=step_place(step.index, own),
        )
        for step in own.steps
        if step.started_ns is not None and step.ended_ns is not None
    ]
    if not spans:
        return None
    took = duration(max(one.end_ms for one in spans) - min(one.start_ms for one in spans))
    return fold(f"Steps by time: {took}", waterfall(spans, caption="Steps by time"), opened=len(spans) <= _FEW // 2)


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
    marked = marking(own, step.index)
    reported = step.evidence == "self_reported"
    parts: list[Markup] = [_head(step, own, reported)]
    if step.thought is not None:
        parts.append(
            tag("div", chip("thought"), shown_text(step.thought, most, whole, marked=marked), class_="thought")
        )
    if step.plan is not None:
        parts.append(
            tag("div", chip("plan"), tag("ol", *(tag("li", bounded(one)) for one in step.plan[:100])), class_="plan")
        )
    if step.message is not None:
        parts.append(shown_text(step.message, most, whole, marked=marked))
    parts += _calls(step, own, most, whole)
    parts += [_finding(one, own) for one in found.get(step.index, ())]
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
        said += [dollars(usage.cost_usd) if usage.cost_usd is not None else ""]
    if step.started_ns is not None and step.ended_ns is not None:
        said.append(f"{(step.ended_ns - step.started_ns) / _NS_IN_MS:.0f} ms")
    marks = [chip("self-reported", "open")] if reported else []
    request = None
    if step.model is not None and step.span_id is not None:
        request = loads("Request", f"{own.base}/requests/{step.index}")
    return tag(
        "header",
        link(step_place(step.index, own), f"{step.index}", class_="index"),
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
        yield _call(call, answer, most, whole, recording, marking(own, step.index))
    if len(step.calls) > _MOST_CALLS:
        yield tag("p", f"{len(step.calls) - _MOST_CALLS} more calls", class_="cut")
    for rest in list(seen.values())[:_MOST_CALLS]:
        yield _call(None, rest, most, whole)


def _call(
    call: ToolCall | None,
    seen: Observation | None,
    most: int,
    whole: str,
    recording: str | None = None,
    marked: Callable[[str], Child] = str,
) -> Markup:
    parts: list[Markup] = []
    marks: list[Markup] = []
    if call is not None and call.arguments is not None:
        parts.append(folded_value("asked", call.arguments, most, whole, marked=marked))
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
        marks.append(loads("Recording", recording, data_under=".call"))
    name = "an answer to no call" if call is None else bounded(call.name, 200)
    return tag("div", tag("div", tag("span", name, class_="tool"), *marks, class_="call-head"), *parts, class_="call")


def _marks(seen: Observation) -> list[Markup]:
    marks = []
    if seen.replayed is not None:
        marks.append(chip(term(seen.replayed), "" if seen.replayed in _SETTLED else "open"))
    if seen.injected is not None:
        marks.append(chip(f"injected: {bounded(seen.injected, 60)}", "open"))
    if seen.duration_ms is not None:
        marks.append(tag("span", f"{seen.duration_ms:.0f} ms", class_="time"))
    return marks


def _finding(one: Diagnosis, own: Timeline) -> Markup:
    later = _step_links(one.dependent_steps[:12], own)
    return tag(
        "div", _title(one), f": {bounded(one.evidence)}", " → steps " if later else None, later, class_="finding"
    )


def _step_links(steps: Iterable[int], own: Timeline | None) -> Markup:
    return fragment(*(fragment(link(step_place(step, own), str(step)), " ") for step in steps))


def _kind(step: Step) -> str:
    if any(one.error is not None for one in step.observations):
        return "error"
    if step.calls:
        return "call"
    return step.source if step.source != "agent" else "reply" if step.message is not None else "thought"


# What scoring and judges say of a trial: checks, metrics, diagnoses with their origin, verdicts of judges.

_MOST_FINDINGS = 200


def checks(card: Scorecard, limit: int) -> Markup:
    """All verdicts: those that did not pass, and folded those that did."""
    shown = card.verdicts[:_MOST_FINDINGS]
    if not shown:
        return tag("p", "This trial has no check.", class_="empty")
    open_ones = sorted((one for one in shown if one.passed is not True), key=lambda one: one.passed is None)
    passed = [_check(one, limit) for one in shown if one.passed is True]
    rest = fold(f"{len(passed)} passed", _list(passed), opened=not open_ones) if passed else None
    return fragment(_list(_check(one, limit) for one in open_ones), rest)


def probable_cause(card: Scorecard, kept: KeptCause | None, own: Timeline) -> Markup | None:
    """What most likely made the trial fail: what an intervention showed, else a judge, else a fact, else a rule."""
    if kept is not None:
        return cause(kept, own)
    if card.success is True:
        return None
    errors = [one for one in card.diagnoses if one.severity == "error" and one.kind != "unexplained"]
    found = next((one for one in errors if one.kind == "judged"), errors[0] if errors else None)
    if found is not None:
        said = _diagnosis(found, own)
    elif rules := broken(card.rules):
        said = fragment("broken rule: ", _broken_rule(rules[0], own))
    else:
        return None
    return tag("div", tag("strong", "Most probable cause "), said, class_="cause")


def diagnoses(card: Scorecard, own: Timeline | None = None) -> Markup | None:
    """The findings as a list that leads to their origins."""
    return _list(tag("li", _diagnosis(one, own)) for one in card.diagnoses[:_MOST_FINDINGS])


def _diagnosis(one: Diagnosis, own: Timeline | None) -> Markup:
    origin = chip("origin not known")
    if one.origin_step is not None:
        origin = link(step_place(one.origin_step, own), f"step {one.origin_step}", class_="chip mode")
    return fragment(origin, _title(one), f": {bounded(one.evidence)}")


def broken_rules(card: Scorecard, own: Timeline) -> Markup | None:
    """The learned rules that were broken, each with its support and a link to its step."""
    return _list(tag("li", _broken_rule(one, own)) for one in broken(card.rules)[:_MOST_FINDINGS])


def _broken_rule(one: RuleResult, own: Timeline | None = None) -> Markup:
    place = None if one.step is None else fragment(link(step_place(one.step, own), f"step {one.step}"), " ")
    return fragment(place, tag("strong", bounded(one.rule)), f": {bounded(one.reason)} ({one.support})")


def cause(found: KeptCause, own: Timeline) -> Markup:
    """The cause that an intervention found, and the fork that succeeds with the change."""
    fork = None
    if found.fork is not None:
        name = "~" + found.fork.removeprefix(".variants/")
        fork = fragment(" ", link(path_of("runs", name, "trials", found.case_id, 1), "The fork that succeeds"))
    effect = (
        f"With the change it succeeds in {found.mended} of {found.repeats}; against chance p = {found.p_value:.3f}."
    )
    return tag(
        "div",
        tag("strong", "Cause by intervention"),
        " at step ",
        _step_links(found.steps, own),
        f": {bounded(found.words)}. {effect}",
        fork,
        class_="cause",
    )


def judgements(found: Sequence[Judgement], steps: Sequence[Step], own: Timeline | None) -> Markup | None:
    """The verdicts of judges by criterion, and the steps that each rests on. `own`: None without the evidence."""
    if not found:
        return None
    places = {step.span_id: step.index for step in steps if step.span_id is not None}
    rows = [_judged(one, places, own) for one in found[:_MOST_FINDINGS]]
    return table(("criterion", "answer", "judge", "why", "rests on"), rows, caption="Verdicts of judges")


def metrics(card: Scorecard) -> Markup:
    rows = [
        row(term(one.metric), UNKNOWN if one.value is None else f"{one.value:g}", bounded(one.explanation))
        for one in card.scores[:_MOST_FINDINGS]
    ]
    return fold("Metrics", table(("metric", "#value", "explanation"), rows, caption="Metrics of the trial"))


def notes(trial: Trial) -> Iterator[str]:
    """What was not observed or did not happen as it was arranged."""
    reported = sum(call.evidence == "self_reported" for call in trial.trajectory.calls)
    if reported:
        yield f"{reported} call(s) are self-reported: not observed by the gateway, and they cannot make a check pass."
    yield from (f"A fault that no call triggered: {bounded(one)}" for one in trial.unfired_faults[:20])
    yield from (f"The user did not send: {bounded(one)}" for one in trial.unsaid_turns[:20])


def _check(one: Verdict, limit: int) -> Markup:
    evidence = folded_value("evidence", one.evidence, limit) if one.evidence else None
    by = tag("span", f"{one.verifier} {one.version}", class_="dim")
    return tag(
        "li",
        success_mark(one.passed),
        " ",
        tag("b", bounded(one.check, 200)),
        " ",
        by,
        tag("p", bounded(one.reason, limit), class_="prose"),
        evidence,
    )


def _title(one: Diagnosis) -> Markup:
    """A judge's finding with its confidence; a fact has none."""
    sure = f", confidence {one.confidence:.2f}" if one.kind == "judged" else ""
    return tag("strong", " ", term(one.failure), " (", term(one.kind), f"{sure})")


def _list(items: Iterable[Markup]) -> Markup | None:
    """None if there are none."""
    shown = list(items)
    return tag("ul", *shown, class_="verdicts") if shown else None


def _judged(one: Judgement, places: dict[str, int], own: Timeline | None) -> Markup:
    kind = {"pass": "good", "fail": "bad"}.get(one.answer, "open")
    steps = list(dict.fromkeys(_steps(one.spans, places)))[:20]
    why = one.rationale if one.failure is None else f"{one.failure}. {one.rationale}"
    button = None
    if own is not None:
        path = own.base + path_of("evidence", one.rubric, one.criterion)
        button = loads("Evidence", path)
    prompt = "" if one.judge.prompt is None else f", prompt {one.judge.prompt}@{one.judge.prompt_version}"
    return row(
        f"{one.rubric} · {one.criterion}",
        chip(words(one.answer), kind),
        bounded(f"{one.judge.model}{prompt}", 160),
        bounded(why, 2000),
        fragment(_step_links(steps, own), button),
    )


def _steps(spans: Sequence[str], places: dict[str, int]) -> Iterator[int]:
    for span in spans:
        if span in places:
            yield places[span]
        elif span.startswith("step:") and span.removeprefix("step:").isdecimal():
            yield int(span.removeprefix("step:"))


# A model request as it was sent, and the answer as it came; what the request repeats of the one before is folded.

_LONG_REQUEST = 200_000
_PLAIN = ("model", "answered_by", "tier", "status", "input_tokens", "output_tokens", "error", "error_message")


def requests_of(spans: Sequence[Span], span_id: str | None) -> tuple[list[JsonObject], list[JsonObject]]:
    """The requests of one step, and those before it."""
    own = [span for span in spans if span.span_id == span_id]
    earlier = [span for span in spans if own and span.start_ns < own[0].start_ns]
    return model_requests(own), model_requests(earlier)


def request_part(own: Sequence[JsonObject], earlier: Sequence[JsonObject]) -> Markup:
    """The part that a step of the timeline loads."""
    if not own:
        return tag(
            "p", "No request to a model was observed for this step: the agent itself reports it.", class_="loaded dim"
        )
    sent = own[0]
    before = earlier[-1] if earlier else {}
    known = [(key.replace("_", " "), bounded(str(sent[key]), 400)) for key in _PLAIN if sent.get(key) is not None]
    rest = [key for key in sent if key not in (*_PLAIN, "messages", "answer") and sent[key] is not None]
    same = [folded_value(key.replace("_", " "), sent[key], _LONG_REQUEST) for key in rest]
    return tag(
        "div",
        facts(known),
        tag("h4", "Messages sent"),
        _messages(sent.get("messages"), before.get("messages")),
        *same,
        tag("h4", "Answer"),
        shown_text(value_text(sent.get("answer")), _LONG_REQUEST, class_="pre"),
        class_="loaded",
    )


def _messages(sent: JsonValue, before: JsonValue) -> Markup:
    if not isinstance(sent, list):
        return shown_text(value_text(sent), _LONG_REQUEST, class_="pre")
    repeated = 0
    if isinstance(before, list):
        while repeated < min(len(sent), len(before)) and sent[repeated] == before[repeated]:
            repeated += 1
    parts = []
    if repeated:
        own = [_message(one) for one in sent[:repeated]]
        parts.append(fold(f"{repeated} as in the request before", *own))
    return fragment(*parts, *(_message(one) for one in sent[repeated:]))


def _message(one: JsonValue) -> Markup:
    role = str(one.get("role", "message")) if isinstance(one, dict) else "message"
    return fragment(tag("h5", bounded(role, 40)), shown_text(value_text(one), _LONG_REQUEST, class_="pre"))


# The recordings that answer a call of a trial, beside the others of its tool.

_BODY: Final = 20_000
_MOST: Final = 20


def recordings_of(cassettes: Path, suite: str, case_id: str, call: ToolCall) -> Markup:
    """Those of the same arguments first: which one answered depends on the writes before."""
    path = next((one for one in cassette_paths(cassettes, suite) if one.stem == case_id), None)
    if path is None:
        return tag("p", "There are no recordings of this case any more.", class_="loaded dim")
    own = [(place, one) for place, one in enumerate(shown_cassette(path).recordings) if one.tool == call.name]
    same = [(place, one) for place, one in own if _fits(one, call)]
    rest = [one for one in own if one not in same]
    parts = [_recording(suite, case_id, *one) for one in same[:_MOST]]
    if not parts:
        parts = [tag("p", "No recording has the arguments of this call any more.", class_="dim")]
    if rest:
        others = fragment(*(_recording(suite, case_id, *one) for one in rest[:_MOST]))
        parts.append(fold(f"{len(rest)} other recordings of {bounded(call.name, 100)}", others))
    return tag("div", *parts, class_="loaded")


def recording_path(suite: str, case_id: str, place: int) -> str:
    """The address of one recording on its cassette's page."""
    page = place // PER_PAGE + 1
    return path_of("cassettes", suite, case_id, page=page if page > 1 else None) + f"#recording-{place}"


def _fits(one: ShownRecording, call: ToolCall) -> bool:
    """A recording has the tool's defaults beside what the call gave, and lacks what changes by itself."""
    given = call.arguments or {}
    if not isinstance(one.arguments, dict):
        return False
    return all(one.arguments.get(name, value) == value for name, value in given.items())


def _recording(suite: str, case_id: str, place: int, one: ShownRecording) -> Markup:
    return tag(
        "section",
        tag(
            "p",
            link(recording_path(suite, case_id, place), f"Recording {place + 1}"),
            " ",
            chip(one.provenance),
            tag("span", f"after {bounded(one.after, 200) or 'no write'}", class_="dim"),
        ),
        folded_value("asked", one.arguments, _BODY),
        fold(f"{words(one.outcome)} {one.status}", shown_text(one.body, _BODY, class_="pre")),
        aria_label=f"Recording {place + 1}",
    )


# What a trial left behind: files, probes against the reference's state, pictures of pages, the program's output.

_MOST_FILES = 300
_LINES = 400
_KINDS = {"added": "good", "deleted": "bad", "modified": "open"}


def files(trial: Trial, base: str) -> Markup | None:
    """The changes to the snapshot's files."""
    end = trial.end_state
    if end is None or not (end.changes or end.problem):
        return None
    rows = [
        row(
            bounded(one.path, 300).encode("utf-8", "backslashreplace").decode(),
            chip(one.change, _KINDS[one.change]),
            one.kind,
            "" if one.size is None else str(one.size),
        )
        for one in end.changes[:_MOST_FILES]
    ]
    rest = len(end.changes) - len(rows)
    return fold(
        f"Files changed: {len(end.changes)}",
        tag("p", bounded(end.problem), class_="alert") if end.problem else None,
        table(("file", "change", "kind", "#bytes"), rows, caption="Files that the agent changed"),
        tag("p", f"{rest} more", class_="cut") if rest > 0 else None,
        tag("p", link(f"{base}/end_state.tar", "Save the archive of the files"), download=True),
    )


def states(folder: RunFolder, trial: Trial) -> Markup | None:
    """The probes at the end; a case with a reference shows the difference from the state that it leaves."""
    if not trial.states:
        return None
    expected = _expected(folder, trial.case_id)
    parts = [_state(name, value, expected) for name, value in list(trial.states.items())[:_MOST_FILES]]
    return fold("End state", *parts, opened=bool(expected))


def pictures(stored: StoredTrial, base: str) -> Markup | None:
    """The pages that checks examined, as the browser showed them."""
    shown = []
    for name, seen in list(stored.trial.pages.items())[:20]:
        picture = None
        if seen.screenshot is not None:
            picture = tag("img", src=f"{base}/pictures/{seen.screenshot}", alt=f"Screenshot of {name}", loading="lazy")
        words = " · ".join(bounded(str(one), 300) for one in (seen.title, seen.url, seen.status, seen.problem) if one)
        shown.append(tag("figure", tag("figcaption", tag("b", bounded(name, 100)), f" {words}"), picture))
    return fold(f"Pages: {len(shown)}", *shown) if shown else None


def output(trial: Trial) -> Markup | None:
    """How the agent's program ended, with the end of what it printed."""
    if trial.exit is None:
        return None
    return fold("The agent's program", *_printed(trial.exit))


def logs(trial: Trial) -> Markup | None:
    if not trial.service_logs:
        return None
    parts = [fragment(tag("h3", bounded(name, 100)), block(log)) for name, log in list(trial.service_logs.items())[:20]]
    return fold("Services", *parts)


def _printed(ended: ProgramExit) -> Iterator[Markup]:
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit status {ended.code}"
    yield tag("p", f"{how}{', stopped at the time limit' if ended.timed_out else ''}")
    texts = {"stdout": ended.stdout_end or ended.stdout, "stderr": ended.stderr_end or ended.stderr}
    for end in printed_ends(ended):
        yield tag("h3", printed_head(end))
        yield block(texts[end.stream])


def _expected(folder: RunFolder, case_id: str) -> dict[str, JsonValue]:
    try:
        state = stored_reference_states(folder.path).get(case_id)
    except HarnessError:
        return {}  # the trial's own state is shown all the same
    return {} if state is None else dict(state.states)


def _state(name: str, value: JsonValue, expected: dict[str, JsonValue]) -> Markup:
    head = tag("h3", bounded(name, 100))
    if name not in expected:
        return fragment(head, block(_json(value)))
    if expected[name] == value:
        return fragment(head, chip("as the reference leaves it", "good"), fold("state", block(_json(value))))
    return fragment(head, diff(_json(expected[name]), _json(value), "reference", "this trial"))


def diff(before: str, after: str, left: str, right: str) -> Markup:
    """A unified difference; each line begins with its sign, so that colour is not needed to read it."""
    lines = list(difflib.unified_diff(before.splitlines()[:5000], after.splitlines()[:5000], left, right, lineterm=""))
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    shown = [tag("span", f"{line[:1000]}\n", class_=kinds.get(line[:1])) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(tag("span", f"{len(lines) - _LINES} more lines"))
    return tag("pre", *shown, class_="diff", tabindex="0")


_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_WORDS = 3000


def text_difference(before: str, after: str) -> Markup:
    """Both texts as one, word by word: what is gone is struck through, what is new is underlined."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) > _MOST_WORDS or len(new) > _MOST_WORDS:
        return diff(before, after, "before", "after")
    parts: list[Child] = []
    for what, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            parts.append("".join(old[a:b]))
            continue
        parts += [tag("del", "".join(old[a:b])) if b > a else None, tag("ins", "".join(new[c:d])) if d > c else None]
    return tag("pre", *parts, class_="diff", tabindex="0")


def step_difference(before: Step, after: Step) -> Markup | None:
    """What two steps that do the same differ in: texts, arguments and answers."""
    pairs = [("thought", before.thought, after.thought), ("message", before.message, after.message)]
    for old, new in zip(before.calls, after.calls, strict=False):
        pairs.append((f"{new.name}, asked", _asked(old), _asked(new)))
    for was, seen in zip(before.observations, after.observations, strict=False):
        pairs.append(("answered", _answered(was), _answered(seen)))
    parts = [
        fragment(tag("h3", bounded(name, 100)), text_difference(old or "", new or ""))
        for name, old, new in pairs[:_MOST_CALLS]
        if old != new
    ]
    return tag("div", *parts, class_="apart") if parts else None


def _asked(call: ToolCall) -> str:
    return call.unparsed or "" if call.arguments is None else value_text(call.arguments)


def _answered(seen: Observation) -> str:
    error = "" if seen.error is None else f"{words(seen.error.type)}: {seen.error.message}\n"
    return error + ("" if seen.content is None else value_text(seen.content))


def _json(value: JsonValue) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
