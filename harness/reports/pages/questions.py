"""The questions of one person: answered by keys, without the answers of judges or of other people."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from harness.errors import UsageError
from harness.judging.annotation import (
    PER_ITEM,
    AnnotationQueue,
    AnnotationTask,
    AnnotatorSession,
    QueuedQuestion,
    QueueEntry,
)
from harness.judging.labels import PersonAnswer
from harness.judging.rubrics import Criterion
from harness.judging.transcripts import Piece
from harness.reports.pages.annotations import RunQuestions
from harness.reports.pages.markup import (
    Markup,
    bounded,
    chip,
    chosen_of,
    fragment,
    link,
    path_of,
    row,
    section,
    shown_text,
    table,
    tag,
    whole_number,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.runs.store.folder import TrialKey
from harness.values import JsonObject

# The questions about one trial to a person: the evidence, and each criterion with the answers to choose from.

WORDS: Final[dict[PersonAnswer, str]] = {
    "pass": "pass",
    "fail": "fail",
    "not_eligible": "does not apply",
    "unsure": "cannot be told",
}
_ANSWER_KEYS: Final[dict[str, PersonAnswer]] = {"p": "pass", "f": "fail", "n": "not_eligible", "u": "unsure"}
_LONG: Final = 1800
_WHOLE: Final = 2_000_000


def session_page(own: AnnotationQueue, asked: Sequence[QueuedQuestion], address: Callable[..., str]) -> Markup:
    """Every question of one trial beside the evidence. `address`: of the trial's page or of what lies below it."""
    works = _works(asked)
    pieces = _pieces(works)
    subject = works[0].subject
    about = "" if subject.case is None else subject.case.description
    forms = [_form(one.criterion, own.shown(one), address(one.criterion.id)) for one in works]
    criteria = section(f"Criteria: {len(forms)}", *forms, id="criteria")
    return fragment(
        tag("h1", f"{subject.trial.case_id} / {subject.trial.attempt}"),
        tag("p", bounded(about, 1000), class_="dim") if about else None,
        tag("div", shown_evidence(pieces, address), tag("div", criteria, class_="criteria"), class_="session"),
    )


def whole_piece(asked: Sequence[QueuedQuestion], place: str) -> Markup:
    """One piece of the evidence, by its number. Raises UsageError."""
    pieces, number = _pieces(_works(asked)), whole_number(place)
    if number is None or number >= len(pieces):
        raise UsageError("these questions have no such piece of evidence")
    return tag("div", pieces[number].text[:_WHOLE], class_="pre")


def _works(asked: Sequence[QueuedQuestion]) -> list[AnnotationTask]:
    """The questions of one trial, which is read once."""
    subject = asked[0].loaded().subject
    return [AnnotationTask(subject=subject, criterion=one.criterion) for one in asked]


def _pieces(works: Sequence[AnnotationTask]) -> list[Piece]:
    """What a judge of any of the questions would be shown."""
    wanted = {piece.ref for one in works for piece in one.evidence}
    return [piece for piece in works[0].subject.transcript.pieces if piece.ref in wanted]


def _others(given: Sequence[dict[str, Any]]) -> Iterator[Markup]:
    """What an adjudicator sees: two answers without names."""
    for place, one in enumerate(given):
        name = "AB"[place] if place < 2 else str(place + 1)
        note = tag("span", bounded(one["note"], 2000), class_="prose") if one["note"] else None
        at = "" if one["step"] is None else f" at step {one['step']}"
        yield tag("p", tag("b", f"{name}: {WORDS[one['answer']]}{at} "), note, class_="notice")


def shown_evidence(
    pieces: Sequence[Piece], address: Callable[..., str] | None = None, title: str = "Evidence"
) -> Markup:
    """`address`: of a long text whole; None: its beginning is all that is shown."""
    long = _LONG if address else _WHOLE
    shown = [
        tag(
            "li",
            tag("header", tag("span", bounded(one.who, 200), class_="who"), tag("span", one.ref, class_="time")),
            shown_text(one.text, long, address and address("pieces", number), class_=_class(one.kind)),
            class_=f"step piece is-{_kind(one.kind)}",
        )
        for number, one in enumerate(pieces)
    ]
    nothing = tag("p", "The transcript holds nothing of what is asked about.", class_="empty")
    return tag(
        "section",
        tag("h2", f"{title}: {len(shown)} {'piece' if len(shown) == 1 else 'pieces'}", id=title.lower()),
        tag("ol", *shown, class_="turn") if shown else nothing,
        aria_labelledby=title.lower(),
        class_="evidence",
        tabindex="0",
    )


def _kind(kind: str) -> str:
    return {"call": "call", "result": "call", "agent": "reply", "answer": "reply", "narration": "reply"}.get(kind, kind)


def _class(kind: str) -> str:
    return "pre" if kind in ("call", "result", "state", "profile") else "prose"


def _form(own: Criterion, given: JsonObject, action: str) -> Markup:
    shown = cast(dict[str, Any], given)
    buttons = [
        tag(
            "button",
            tag("kbd", key),
            f" {WORDS[value].capitalize()}",
            name="answer",
            value=value,
            data_key=key,
            aria_pressed="true" if shown["answer"] == value else "false",
            disabled=value == "not_eligible" and not own.applies_when,
        )
        for key, value in _ANSWER_KEYS.items()
    ]
    step = tag(
        "select",
        tag("option", "choose", value=""),
        *(tag("option", str(one), value=str(one), selected=one == shown["step"]) for one in shown["steps"]),
        name="step",
    )
    note = tag("textarea", shown["note"], name="note", maxlength="2000", rows="1", data_key="c", data_kept=True)
    return tag(
        "form",
        tag("p", f"{own.domain}: {own.id} ", chip("critical", "bad") if own.critical else None),
        tag("h3", own.statement),
        tag("p", tag("b", "Fails when: "), own.fail, class_="prose") if own.fail else None,
        tag("p", tag("b", "Applies when: "), own.applies_when, class_="prose") if own.applies_when else None,
        *_others(shown["others"]),
        tag("label", tag("span", "if it fails: the step that decided it"), step) if shown["steps"] else None,
        tag("div", *buttons, class_="answers-row"),
        tag("label", tag("span", "comment, sent with the answer; a #word in it is a tag"), note),
        tag("p", role="status", class_="bad"),
        method="post",
        action=action,
        class_="question answers",
        id=f"criterion-{own.id}",
        tabindex="-1",
        aria_label=own.id,
        data_open=shown["answer"] is None,
    )


_QUEUE: Final = "/annotate/{run}/{rubric}"
_SESSION: Final = _QUEUE + "/{case}/{attempt}"
_TAG: Final = re.compile(r"(?<!\w)#(\w[\w-]{0,40})")
_KEPT: Final = ("as", "role", "per", "criterion")
"""Parts of the query that say who annotates what."""
_KEYS: Final = (
    *((key, WORDS[value]) for key, value in _ANSWER_KEYS.items()),
    ("c", "write a comment; Esc leaves it"),
    ("j, k", "next, previous criterion, which the answers are for"),
    ("→, ←", "next, previous trial"),
    ("o", "the next trial with an open question"),
)


def queue(ask: Ask) -> Page:
    """`/annotate/{run}/{rubric}?as=`: all questions of one person."""
    person = _person(ask)
    found = _questions(ask)
    own = _queue(ask, found, person)
    wanted, every = ask.query.get("tag", ""), own.places()
    places = [one for one in every if not wanted or wanted in _TAG.findall(one.note)]
    shown, beside = ask.part(places, path_of("annotate", ask.place["run"], ask.place["rubric"]))
    rows = [
        row(
            link(path := _path(ask, one.case_id, one.attempt), f"{one.case_id} / {one.attempt}"),
            link(f"{path}#criterion-{one.criterion}", one.criterion),
            chip("open", "open") if one.answer is None else WORDS[one.answer],
            fragment(*map(chip, dict.fromkeys(_TAG.findall(one.note)))),
            href=path,
        )
        for one in shown
    ]
    nothing = "No question has two answers." if person.role == "adjudicator" else "There is nothing left to label."
    heads = ("trial", "criterion", "your answer", "tags")
    body = fragment(
        _crumbs(ask),
        tag("h1", f"{person.name} {_does(person)} {found.rubric.name}"),
        _progress(own),
        *(
            tag("p", f"{case} / {attempt}: {why}", class_="alert")
            for (case, attempt), why in list(found.problems.items())[:20]
        ),
        tag("p", _open_link(ask, following)) if (following := _open_after(ask, every)) is not None else None,
        _tags(ask, every),
        table(heads, rows, caption="Questions", class_="plain list")
        if rows
        else tag("p", nothing, class_="empty", role="status"),
        beside,
    )
    return Page(title=f"{person.name} {_does(person)}", body=body, section="Annotate", keys=_KEYS[-1:])


def _tags(ask: Ask, places: Sequence[QueueEntry]) -> Markup | None:
    """The tags of the person's comments, each leads to its questions."""
    found = Counter(name for one in places for name in set(_TAG.findall(one.note)))
    wanted, ranked = ask.query.get("tag"), found.most_common()
    return chosen_of("Tags", ((_path(ask, tag=name), f"{name} {count}", name == wanted) for name, count in ranked))


def session(ask: Ask) -> Page:
    """All questions of a trial, with what a judge would be shown."""
    person = _person(ask)
    found = _questions(ask)
    own = _queue(ask, found, person)
    body = fragment(
        tag("p", link(_path(ask), "All questions", data_up=True), class_="crumbs"),
        _progress(own),
        _around(ask, own),
        session_page(own, _asked(ask, own), lambda *below: _path(ask, *_trial(ask), *below)),
    )
    return Page(
        title=f"{person.name} {_does(person)} {found.rubric.name}",
        body=body,
        section="Annotate",
        keys=_KEYS,
        modules=("annotate.js",),
    )


def piece(ask: Ask) -> Page:
    """`.../pieces/{piece}`: one piece of the evidence whole."""
    own = _queue(ask, _questions(ask), _person(ask))
    return Page(title="", body=whole_piece(_asked(ask, own), ask.place["piece"]), part=True)


def answer(ask: Ask) -> str:
    """Writes the answer, and goes to the next open question: of the trial, else of another one."""
    given = ask.form.get("answer", "")
    if given not in get_args(PersonAnswer):
        raise UsageError(f"{given[:40]!r} is not an answer", remedy=f"one of: {', '.join(get_args(PersonAnswer))}")
    own = _queue(ask, _questions(ask), _person(ask))
    case, attempt = _trial(ask)
    asked = own.find(case, attempt, ask.place["criterion"])
    open_before = {(one.case_id, one.attempt, one.criterion) for one in own.places() if one.answer is None}
    was_open = (case, attempt, asked.item.criterion) in open_before
    note, step = ask.form.get("note", "").replace("\r\n", "\n").strip(), whole_number(ask.form.get("step", ""))
    own.answer(asked, cast(PersonAnswer, given), note, step)
    own.refresh()
    left = (
        one.criterion for one in own.places() if one.answer is None and (one.case_id, one.attempt) == (case, attempt)
    )
    shown = next(left, None) if was_open else asked.item.criterion  # a changed answer stays in view
    if shown is not None:
        return f"{_path(ask, case, attempt)}#criterion-{shown}"
    following = _open_after(ask, own.places())
    return _path(ask) if following is None else _path(ask, *following)


def _questions(ask: Ask) -> RunQuestions:
    own = ask.project.annotations
    folder = ask.project.run(ask.place["run"])
    suite = own.suite(folder)
    return own.questions(folder, suite, own.rubric(suite, ask.place["rubric"]))


def _queue(ask: Ask, found: RunQuestions, person: AnnotatorSession) -> AnnotationQueue:
    return ask.project.annotations.queue(found, person, ask.query.get("criterion", ""))


def _person(ask: Ask) -> AnnotatorSession:
    role = ask.query.get("role", "") or "annotator"
    if role not in ("annotator", "adjudicator"):
        raise UsageError(f"{role[:40]!r} is not a task", remedy="annotator or adjudicator")
    per_item = ask.number("per", default=PER_ITEM, most=20)
    return AnnotatorSession.of(
        ask.query.get("as", ""), "adjudicator" if role == "adjudicator" else "annotator", per_item
    )


def _does(person: AnnotatorSession) -> str:
    return "adjudicates" if person.role == "adjudicator" else "labels"


def _trial(ask: Ask) -> TrialKey:
    return ask.place["case"], ask.attempt()


def _asked(ask: Ask, own: AnnotationQueue) -> list[QueuedQuestion]:
    """The questions of the trial that is shown, in the rubric's order. Raises UsageError if there are none."""
    found = [one for one in own.queue if (one.item.case_id, one.attempt) == _trial(ask)]
    if not found:
        raise UsageError(
            f"{own.annotator.name} is not asked about {ask.place['case'][:100]!r} attempt {ask.attempt()}",
            remedy="enough others have answered, or there is no such trial: go to the next one",
        )
    order = [one.id for one in own.rubric.criteria_for(ask.place["case"])]
    return sorted(found, key=lambda one: order.index(one.criterion.id))


def _path(ask: Ask, *below: str | int, **asked: str) -> str:
    """The address of the queue, or of what lies below it."""
    return path_of("annotate", ask.place["run"], ask.place["rubric"], *below, **_who(ask.query), **asked)


def _who(query: Mapping[str, str]) -> dict[str, str]:
    return {name: query[name] for name in _KEPT if query.get(name)}


def _crumbs(ask: Ask) -> Markup:
    up = link(path_of("annotate", run=ask.place["run"]), f"Rubrics of {ask.place['run']}", data_up=True)
    return tag("p", tag("span", link("/annotate", "Annotate"), " / ", up), class_="crumbs")


def _progress(own: AnnotationQueue) -> Markup:
    places = own.places()
    done = sum(one.answer is not None for one in places)
    bar = tag("progress", max=max(1, len(places)), value=done, aria_label="Answered questions")
    return tag("p", bar, f" {done} of {len(places)} answered", class_="progress", role="status")


def _open_link(ask: Ask, trial: TrialKey) -> Markup:
    return link(_path(ask, *trial), "Next open ", tag("kbd", "o"), data_key="o")


def _open_after(ask: Ask, places: Sequence[QueueEntry]) -> TrialKey | None:
    """The next trial with an open question after the one that is shown."""
    keys = list(dict.fromkeys((one.case_id, one.attempt) for one in places))
    shown = _trial(ask) if "case" in ask.place else None
    at = keys.index(shown) + 1 if shown in keys else 0
    waiting = {(one.case_id, one.attempt) for one in places if one.answer is None}
    return next((key for key in (*keys[at:], *keys[:at]) if key in waiting and key != shown), None)


def _around(ask: Ask, own: AnnotationQueue) -> Markup:
    """Links to the trials before and after: the questions that were answered come first."""
    places = own.places()
    keys = list(dict.fromkeys((one.case_id, one.attempt) for one in places))
    number = keys.index(_trial(ask)) if _trial(ask) in keys else 0
    links = [
        link(_path(ask, *keys[place]), words, data_key=key)
        for place, words, key in ((number - 1, "← Previous", "ArrowLeft"), (number + 1, "Next →", "ArrowRight"))
        if 0 <= place < len(keys)
    ]
    following = _open_after(ask, places)
    if following is not None:
        links.append(_open_link(ask, following))
    return tag("nav", *links, class_="pager", aria_label="Trials")


PAGES = PageSet(
    shows={
        _QUEUE: queue,
        _SESSION: session,
        _SESSION + "/pieces/{piece}": piece,
    },
    acts={_SESSION + "/{criterion}": answer},
)
