"""A try of the workbench: what it would cost, its verdicts beside people's and those in use, and saving it."""

from collections.abc import Iterator, Sequence
from typing import Final

from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Rubric
from harness.judging.settings import judge_settings
from harness.judging.verdicts import Judgement
from harness.reports.pages.drafts import CriterionDraft
from harness.reports.pages.markup import (
    UNKNOWN,
    Markup,
    action,
    bounded,
    chip,
    facts,
    fold,
    fragment,
    link,
    path_of,
    row,
    run_link,
    section,
    table,
    tag,
    tiles,
    trial_path,
    when,
    whole_number,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.trial_parts import diff
from harness.reports.pages.workbench import ComparedVerdicts, compared_verdicts
from harness.reports.units import dollars
from harness.runs.judge_calibration import save_candidate
from harness.runs.judging import TryEstimate, agents_models
from harness.runs.store.folder import RunFolder
from harness.suite.suites import Suite

_ROOM: Final = 2
"""The suggested budget over the estimate."""
_KINDS: Final = {"pass": "good", "fail": "bad"}
_PATH: Final = "/workbench/{id}"


def show(ask: Ask) -> Page:
    """`/workbench/{id}`."""
    running = ask.project.tries.is_running(ask.place["id"])  # first: one that ends now has its last verdicts written
    draft, folder, suite, rubric = _opened(ask)
    labels = ask.project.annotations.labels(suite, rubric)
    found = [
        one
        for one in compared_verdicts(folder, rubric, draft.criterion, labels, draft.judgements)
        if one.key in set(draft.trials)
    ]
    return Page.of(
        f"{draft.rubric} · {draft.criterion}",
        facts(_about(draft)),
        *_notices(ask, draft, rubric, running=running),
        _changes(draft, rubric, ask),
        *_state(draft, rubric, running=running),
        *(_results(draft, found) if draft.judgements else ()),
        section="Workbench",
        up=("/workbench", "Workbench"),
        again_after_s=2 if running else None,
    )


def start(ask: Ask) -> str:
    """Sends the questions, within the budget of the form."""
    draft, folder, suite, rubric = _opened(ask)
    settings = judge_settings(ask.project.path, suite.folder, {}, agents_models(folder), options=None)
    budget = Budget(
        tokens=_whole(ask.form.get("tokens", "")),
        usd=_amount(ask.form.get("usd", "")),
        requests=None if draft.estimate is None else draft.estimate.questions * settings.tries * 2,
    )
    ask.project.tries.start(draft, folder, draft.changed_rubric(rubric), settings, budget)
    return path_of("workbench", draft.id)


def save(ask: Ask) -> str:
    """Saves the change as a candidate. Raises UsageError where nothing was changed."""
    draft, _, suite, rubric = _opened(ask)
    saved = save_candidate(
        ask.project.path,
        suite,
        draft.rubric,
        draft.changed_criterion(rubric),
        draft.prompt_text,
        keeps_labels=ask.form.get("keeps_labels", "") == "yes",
    )
    return path_of("workbench", draft.id, prompt=saved.prompt, rubric=saved.rubric)


def _opened(ask: Ask) -> tuple[CriterionDraft, RunFolder, Suite, Rubric]:
    """The draft of the address, with its run and what it changes."""
    draft = ask.project.tries.drafts.read(ask.place["id"])
    folder = ask.project.run(draft.run)
    suite = ask.project.annotations.suite(folder)
    return draft, folder, suite, ask.project.annotations.rubric(suite, draft.rubric)


def _whole(text: str) -> int:
    if not (found := whole_number(text)):
        raise UsageError(f"field 'tokens': expected a whole number above 0, found {text[:40]!r}")
    return found


def _amount(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise UsageError(f"field 'usd': expected an amount above 0, found {text[:40]!r}")
    return found


def _about(draft: CriterionDraft) -> list[tuple[str, Markup | str]]:
    return [
        ("run", run_link(draft.run)),
        ("trials", str(len(draft.trials))),
        ("prompt", f"{draft.prompt}, begun as {draft.prompt_version}"),
        ("made", when(draft.created)),
    ]


def _notices(ask: Ask, draft: CriterionDraft, rubric: Rubric, *, running: bool) -> Iterator[Markup]:
    if rubric.digest != draft.rubric_digest:
        yield tag("p", "The rubric has changed since this draft was made.", class_="alert")
    if draft.state == "running" and not running:
        yield tag("p", "The try was interrupted: the verdicts so far are kept. Try it again.", class_="alert")
    if draft.problem is not None:
        yield tag("p", bounded(draft.problem, 2000), class_="alert")
    if draft.tried is not None and draft.tried.stopped is not None:
        yield tag("p", f"Stopped: {bounded(draft.tried.stopped)}", class_="alert")
    if ask.query.get("prompt"):
        yield tag(
            "p", f"Saved as {bounded(ask.query['prompt'], 200)}, label candidate.", class_="notice", role="status"
        )
    if ask.query.get("rubric"):
        again = f"harness judge run {draft.run} --rubric {bounded(ask.query['rubric'], 200)}"
        yield tag("p", "Saved as a rubric. ", tag("code", again), class_="notice", role="status")


def _changes(draft: CriterionDraft, rubric: Rubric, ask: Ask) -> Markup:
    """What differs from the version in use."""
    before = rubric.criterion(draft.criterion)
    in_use = PromptRegistry(ask.project.path).get(draft.prompt)
    pairs = [("prompt", in_use.text, draft.prompt_text)]
    if before is not None:
        pairs = [
            ("passes when", before.statement, draft.statement),
            ("fails when", before.fail or "", draft.fail or ""),
            ("applies when", before.eligibility or "", draft.eligibility or ""),
            *pairs,
        ]
    shown = [
        fragment(tag("h2", name), diff(old, new, "in use", "this draft")) for name, old, new in pairs if old != new
    ]
    if not shown:
        return tag("p", "Neither the criterion nor the prompt differs from what is in use.", class_="notice")
    return fold("What was changed", *shown, opened=not draft.judgements)


def _state(draft: CriterionDraft, rubric: Rubric, *, running: bool) -> Iterator[Markup]:
    estimate = draft.estimate
    if running:
        every = 0 if estimate is None else estimate.questions
        done = len(draft.judgements)
        bar = tag("progress", max=max(1, every, done), value=done, aria_label="Verdicts")
        yield tag("p", bar, f" {done} verdicts of about {every}. The page follows.", class_="progress", role="status")
        return
    if draft.tried is not None:
        spent = draft.tried
        tokens = spent.input_tokens + spent.output_tokens
        yield tag("p", f"{spent.calls} requests, {tokens} tokens, {dollars(spent.usd)}.", class_="dim")
        yield _saving(draft, rubric)
    if estimate is not None:
        begin = _begin(draft, estimate)
        yield begin if draft.tried is None else fold("Try it again", begin)


def _begin(draft: CriterionDraft, estimate: TryEstimate) -> Markup:
    tokens = estimate.input_tokens + estimate.output_tokens
    about = (
        ("model", bounded(estimate.model, 100)),
        ("questions", str(estimate.questions)),
        ("tokens, about", str(tokens)),
        ("cost, about", "the model has no price" if estimate.usd is None else dollars(estimate.usd)),
    )
    most = tag(
        "input", name="tokens", value=str(max(1000, _ROOM * tokens)), required=True, inputmode="numeric", size="10"
    )
    usd = tag("input", name="usd", inputmode="decimal", size="8")
    fields = [tag("label", tag("span", "at most tokens"), most)]
    if estimate.usd is not None:
        fields.append(tag("label", tag("span", "at most USD (empty: no limit)"), usd))
    send = action(path_of("workbench", draft.id, "start"), f"Send {estimate.questions} questions", None, *fields)
    return section("Budget", facts(about), send, id="budget")


def _saving(draft: CriterionDraft, rubric: Rubric) -> Markup:
    before = rubric.criterion(draft.criterion)
    fields = []
    if before is not None and draft.changed_criterion(rubric) != before:
        box = tag("input", type="checkbox", name="keeps_labels", value="yes")
        fields.append(tag("label", box, " people's labels still hold: the question means the same", class_="check"))
    return action(path_of("workbench", draft.id, "save"), "Save as candidate", None, *fields)


def _results(draft: CriterionDraft, found: Sequence[ComparedVerdicts]) -> Iterator[Markup]:
    tried = {(one.case_id, one.attempt, one.criterion): one for one in draft.judgements}
    yield tag("h2", "Verdicts")
    yield _agreement(tried, found)
    rows = [_result(draft, one, tried.get((*one.key, one.criterion))) for one in found]
    yield table(("trial", "people", "in use", "this draft", "why"), rows, caption="Verdicts side by side")


def _agreement(tried: dict[tuple[str, int, str], Judgement], found: Sequence[ComparedVerdicts]) -> Markup:
    """Over the trials that people settled and that both versions judged."""
    both = [
        (one.right, one.in_use.answer, tried[(*one.key, one.criterion)].answer)
        for one in found
        if one.right is not None and one.in_use is not None and (*one.key, one.criterion) in tried
    ]
    alone = [
        (one.right, tried[(*one.key, one.criterion)].answer)
        for one in found
        if one.right is not None and (*one.key, one.criterion) in tried
    ]
    if not alone:
        return tag("p", "People have labelled none of these trials.", class_="dim")
    boxes = [("This draft, against people", f"{sum(right == now for right, now in alone)} of {len(alone)}", None)]
    if both:
        was_right = sum(right == was for right, was, _ in both)
        boxes.append(("In use, on the same trials", f"{was_right} of {len(both)}", None))
        boxes.append(("This draft, on those", f"{sum(right == now for right, _, now in both)} of {len(both)}", None))
    return tiles("Agreement with people", boxes)


def _result(draft: CriterionDraft, one: ComparedVerdicts, tried: Judgement | None) -> Markup:
    path = trial_path(draft.run, *one.key)
    name = f"{one.key[0]} / {one.key[1]}" + (f" · {one.criterion}" if one.criterion != draft.criterion else "")
    people = (
        UNKNOWN if one.people is None else chip(words(one.right or one.people.settled), _KINDS.get(one.right or "", ""))
    )
    why = "" if tried is None else bounded(tried.failure or tried.rationale, 600)
    return row(link(path, name), people, _answer(one.in_use, one.right), _answer(tried, one.right), why)


def _answer(judgement: Judgement | None, right: str | None) -> Markup | str:
    if judgement is None:
        return UNKNOWN
    differs = right is not None and judgement.answer != right
    mark = chip("not as people", "open") if differs else None
    version = None if judgement.judge.prompt_version is None else f"@{judgement.judge.prompt_version}"
    by = tag("span", bounded(version, 40), class_="why") if version is not None else None
    return fragment(chip(words(judgement.answer), _KINDS.get(judgement.answer, "")), mark, by)


PAGES = PageSet(shows={_PATH: show}, acts={_PATH + "/start": start, _PATH + "/save": save})
