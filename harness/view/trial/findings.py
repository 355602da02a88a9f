"""What scoring and judges say of a trial: checks, metrics, diagnoses with their origin, verdicts of judges."""

from collections.abc import Iterator, Sequence

from harness.judge import JudgeIdentity, Judgement
from harness.results import KeptCause
from harness.score import Diagnosis, Scorecard, Verdict
from harness.trace import Step, Trial
from harness.view.markup import Markup, fragment, link, path_of, tag
from harness.view.tables import fold, table
from harness.view.trial.texts import folded_value
from harness.view.wording import UNKNOWN, bounded, chip, words

_ITEMS = 200


def checks(card: Scorecard, limit: int) -> Markup:
    """All verdicts; those that did not pass come first."""
    shown = sorted(card.verdicts, key=lambda one: {False: 0, None: 1, True: 2}[one.passed])[:_ITEMS]
    if not shown:
        return tag("p", "This trial has no check.", class_="empty")
    return tag("ul", *(_check(one, limit) for one in shown), class_="verdicts")


def diagnoses(card: Scorecard) -> Markup | None:
    """The findings as a list that leads to their origins."""
    found = card.diagnoses[:_ITEMS]
    if not found:
        return None
    return tag(
        "ul", *(tag("li", _origin(one), _title(one), f": {bounded(one.evidence)}") for one in found), class_="verdicts"
    )


def cause(found: KeptCause | None) -> Markup | None:
    """The cause that an intervention found, and the fork that succeeds with the change."""
    if found is None:
        return None
    steps = fragment(*(fragment(link(f"#step-{step}", str(step)), " ") for step in found.steps))
    fork = None
    if found.fork is not None:
        name = "~" + found.fork.removeprefix(".variants/")
        fork = fragment(" ", link(path_of("runs", name, "trials", found.case_id, 1), "The fork that succeeds"))
    effect = (
        f"With the change it succeeds in {found.mended} of {found.repeats}; confidence at least {found.confidence:.2f}."
    )
    return tag(
        "div",
        tag("strong", "Cause by intervention"),
        " at step ",
        steps,
        f": {bounded(found.words)}. {effect}",
        fork,
        class_="cause",
    )


def judgements(found: Sequence[Judgement], steps: Sequence[Step], base: str | None) -> Markup | None:
    """The verdicts of judges by criterion, and the steps that each rests on. `base`: None without the evidence."""
    if not found:
        return None
    places = {step.span_id: step.index for step in steps if step.span_id is not None}
    rows = [_judged(one, places, base) for one in found[:_ITEMS]]
    return table(("criterion", "answer", "judge", "why", "rests on"), rows, caption="Verdicts of judges")


def metrics(card: Scorecard) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", words(one.metric), scope="row"),
            tag("td", UNKNOWN if one.value is None else f"{one.value:g}", class_="num"),
            tag("td", bounded(one.explanation)),
        )
        for one in card.scores[:_ITEMS]
    ]
    return fold("Metrics", table(("metric", "#value", "explanation"), rows, caption="Metrics of the trial"))


def notes(trial: Trial, card: Scorecard) -> Iterator[str]:
    """What a reader has to know before believing the figures."""
    if card.reason:
        yield f"{words(card.outcome)}: {bounded(card.reason, 1000)}"
    if trial.tiers.get("earlier_state"):
        yield "Some answers are from an earlier state and may be wrong."
    reported = sum(call.evidence == "self_reported" for call in trial.trajectory.calls)
    if reported:
        yield f"{reported} call(s) are self-reported: not observed by the gateway, and they cannot make a check pass."
    if card.success is False:
        for mode, why in card.modes_not_measured.items():
            yield f"Not measured here: {words(mode)}: {bounded(why)}"
    yield from (f"A fault that no call triggered: {bounded(one)}" for one in trial.unfired_faults[:20])
    yield from (f"The user did not send: {bounded(one)}" for one in trial.unsaid_turns[:20])


def _check(one: Verdict, limit: int) -> Markup:
    mark = {True: ("✓ passed", "good"), False: ("✗ failed", "bad"), None: ("? unknown", "open")}[one.passed]
    evidence = folded_value("evidence", one.evidence, limit) if one.evidence else None
    by = tag("span", f"{one.verifier} {one.version}", class_="dim")
    return tag(
        "li",
        tag("span", mark[0], class_=f"mark {mark[1]}"),
        " ",
        tag("b", bounded(one.check, 200)),
        " ",
        by,
        tag("p", bounded(one.reason, limit), class_="prose"),
        evidence,
    )


def _origin(one: Diagnosis) -> Markup:
    if one.origin_step is None:
        return chip("origin not known")
    return link(f"#step-{one.origin_step}", f"step {one.origin_step}", class_="chip mode")


def _title(one: Diagnosis) -> Markup:
    return tag("strong", f" {words(one.failure)} ({words(one.kind)}, confidence {one.confidence:.2f})")


def _judged(one: Judgement, places: dict[str, int], base: str | None) -> Markup:
    kind = {"pass": "good", "fail": "bad"}.get(one.answer, "open")
    steps = list(dict.fromkeys(_steps(one.spans, places)))[:20]
    why = one.rationale if one.failure is None else f"{one.failure}. {one.rationale}"
    button = None
    if base is not None:
        path = base + path_of("evidence", one.rubric, one.criterion)
        button = tag("button", "Evidence", type="button", class_="quiet small", data_load=path, data_into="after")
    return tag(
        "tr",
        tag("th", f"{one.rubric} · {one.criterion}", scope="row"),
        tag("td", chip(words(one.answer), kind)),
        tag("td", _judge(one.judge)),
        tag("td", bounded(why, 2000)),
        tag("td", *(fragment(link(f"#step-{step}", str(step)), " ") for step in steps), button),
    )


def _judge(judge: JudgeIdentity) -> str:
    prompt = "" if judge.prompt is None else f", prompt {judge.prompt}@{judge.prompt_version}"
    return bounded(f"{judge.model}{prompt}", 160)


def _steps(spans: Sequence[str], places: dict[str, int]) -> Iterator[int]:
    for span in spans:
        if span in places:
            yield places[span]
        elif span.startswith("step:") and span.removeprefix("step:").isdecimal():
            yield int(span.removeprefix("step:"))
