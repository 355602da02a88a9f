"""The questions of one person: answered by keys, without the answers of judges or of other people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from harness.errors import UsageError
from harness.judging.annotation import PER_ITEM, AnnotationQueue, AnnotatorSession, QueuedQuestion, QueueEntry
from harness.judging.labels import PersonAnswer
from harness.reports.pages.annotations import RunQuestions
from harness.reports.pages.markup import (
    PER_PAGE,
    Markup,
    bounded,
    chip,
    fragment,
    link,
    pager,
    pages_of,
    path_of,
    row,
    shown_text,
    table,
    tag,
)
from harness.reports.pages.request import Ask, Page, PageSet

# One question to a person: the criterion, the evidence, and the answers to choose from.

WORDS: Final[dict[PersonAnswer, str]] = {
    "pass": "pass",
    "fail": "fail",
    "not_eligible": "does not apply",
    "unsure": "cannot be told",
}
_BUTTONS: Final[tuple[tuple[PersonAnswer, str, str], ...]] = (
    ("pass", "Pass", "p"),
    ("fail", "Fail", "f"),
    ("not_eligible", "Does not apply", "n"),
    ("unsure", "Cannot tell", "u"),
)
_LONG: Final = 1800
_WHOLE: Final = 2_000_000


def question_page(own: AnnotationQueue, asked: QueuedQuestion, action: str, pieces: str) -> Markup:
    """The question with its form. `pieces`: the address of whole pieces of evidence, without their number."""
    shown = cast(dict[str, Any], own.shown(asked))
    return fragment(_criterion(shown), _evidence(shown["evidence"], pieces), _form(shown, action))


def whole_piece(own: AnnotationQueue, asked: QueuedQuestion, place: str) -> Markup:
    """One piece of the evidence, by its number. Raises UsageError."""
    evidence = cast(dict[str, Any], own.shown(asked))["evidence"]
    if not (place.isascii() and place.isdecimal() and len(place) < 9 and int(place) < len(evidence)):
        raise UsageError("this question has no such piece of evidence")
    return tag("div", evidence[int(place)]["text"][:_WHOLE], class_="pre")


def _criterion(shown: dict[str, Any]) -> Markup:
    about = [f"{shown['case']} / {shown['attempt']}", f"{shown['domain']}: {shown['criterion']}"]
    return tag(
        "section",
        tag("p", " · ".join(about), " ", chip("critical", "bad") if shown["critical"] else None, class_="dim"),
        tag("p", bounded(shown["about"], 1000), class_="dim") if shown["about"] else None,
        tag("h1", shown["statement"]),
        tag("p", tag("b", "Fails when: "), shown["fail"], class_="prose") if shown["fail"] else None,
        tag("p", tag("b", "Applies when: "), shown["eligibility"], class_="prose") if shown["eligibility"] else None,
        *_others(shown["others"]),
        class_="question",
        aria_label="The question",
        tabindex="-1",
    )


def _others(given: Sequence[dict[str, Any]]) -> Iterator[Markup]:
    """What an adjudicator sees: two answers without names."""
    for place, one in enumerate(given):
        name = "AB"[place] if place < 2 else str(place + 1)
        note = tag("span", bounded(one["note"], 2000), class_="prose") if one["note"] else None
        at = "" if one["step"] is None else f" at step {one['step']}"
        yield tag("p", tag("b", f"{name}: {WORDS[one['answer']]}{at} "), note, class_="notice")


def _evidence(evidence: Sequence[dict[str, Any]], pieces: str) -> Markup:
    path, _, query = pieces.partition("?")
    shown = [
        tag(
            "li",
            tag("header", tag("span", bounded(one["who"], 200), class_="who"), tag("span", one["ref"], class_="time")),
            shown_text(one["text"], _LONG, f"{path}/{place}?{query}", class_=_class(one["kind"])),
            class_=f"step is-{_kind(one['kind'])}",
            tabindex="-1",
        )
        for place, one in enumerate(evidence)
    ]
    nothing = tag("p", "The transcript holds nothing of what this criterion looks at.", class_="empty")
    amount = f"Evidence: {len(shown)} {'piece' if len(shown) == 1 else 'pieces'}"
    return tag(
        "section",
        tag("h2", amount, id="evidence"),
        tag("ol", *shown, class_="turn") if shown else nothing,
        aria_labelledby="evidence",
    )


def _kind(kind: str) -> str:
    return {"call": "call", "result": "call", "agent": "reply", "answer": "reply", "narration": "reply"}.get(kind, kind)


def _class(kind: str) -> str:
    return "pre" if kind in ("call", "result", "state", "profile") else "prose"


def _form(shown: dict[str, Any], action: str) -> Markup:
    buttons = [
        tag(
            "button",
            tag("kbd", key),
            f" {words}",
            name="answer",
            value=value,
            data_key=key,
            aria_pressed="true" if shown["answer"] == value else "false",
            disabled=value == "not_eligible" and not shown["eligibility"],
        )
        for value, words, key in _BUTTONS
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
        tag("label", tag("span", "if it fails: the step that decided it"), step) if shown["steps"] else None,
        tag("div", *buttons, class_="answers-row"),
        tag("label", tag("span", "comment, written with the answer"), note),
        method="post",
        action=action,
        class_="answers",
        aria_label="Your answer",
    )


_WITHIN_S: Final = 1.0
"""For finding the questions of a run; what takes longer goes on while the page waits."""
_QUEUE: Final = "/annotate/{run}/{rubric}"
_QUESTION: Final = _QUEUE + "/{case}/{attempt}/{criterion}"
_KEPT: Final = ("as", "role", "per", "criterion")
"""Parts of the query that say who annotates what."""
_KEYS: Final = (
    ("p", "pass"),
    ("f", "fail"),
    ("n", "does not apply"),
    ("u", "cannot be told from this"),
    ("c", "write a comment; Esc leaves it"),
    ("→, ←", "next, previous question"),
    ("o", "the next open question"),
)


def queue(ask: Ask) -> Page:
    """`/annotate/{run}/{rubric}?as=`: all questions of one person."""
    person = _person(ask)
    found = _questions(ask)
    own = _queue(ask, found, person)
    if own is None:
        return _waiting(ask, found)
    places = own.places()
    pages = pages_of(len(places))
    number = ask.number("page", most=pages)
    rows = [
        row(
            link(path := _entry_path(ask, one), f"{one.case_id} / {one.attempt}"),
            one.criterion,
            chip("open", "open") if one.answer is None else WORDS[one.answer],
            href=path,
        )
        for one in places[(number - 1) * PER_PAGE : number * PER_PAGE]
    ]
    nothing = "Nothing is contested." if person.role == "adjudicator" else "There is nothing left to label."
    heads = ("trial", "criterion", "your answer")
    body = fragment(
        _crumbs(ask),
        tag("h1", f"{person.name} {_does(person)} {found.rubric.name}"),
        _progress(own),
        *(tag("p", f"{case} / {attempt}: {why}", class_="alert") for (case, attempt), why in _unread(found)),
        _next_open(ask, own),
        table(heads, rows, caption="Questions", class_="plain list")
        if rows
        else tag("p", nothing, class_="empty", role="status"),
        pager(number, pages, path_of("annotate", ask.place["run"], ask.place["rubric"]), ask.query),
    )
    return Page(title=f"{person.name} {_does(person)}", body=body, section="Annotate", keys=_KEYS[-1:])


def question(ask: Ask) -> Page:
    """One question with what a judge would be shown."""
    person = _person(ask)
    found = _questions(ask)
    own = _queue(ask, found, person)
    if own is None:
        return _waiting(ask, found)
    asked = _asked(ask, own)
    body = fragment(
        tag("p", link(_queue_path(ask), "All questions", data_up=True), class_="crumbs"),
        _progress(own),
        _around(ask, own),
        question_page(own, asked, _path(ask), _path(ask, pieces=True)),
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
    if own is None:
        raise UsageError("the questions of this run are still being read", remedy="load the page again")
    return Page(title="", body=whole_piece(own, _asked(ask, own), ask.place["piece"]), part=True)


def answer(ask: Ask) -> str:
    """Writes the answer, and goes to the next open question."""
    given = ask.form.get("answer", "")
    if given not in get_args(PersonAnswer):
        raise UsageError(f"{given[:40]!r} is not an answer", remedy=f"one of: {', '.join(get_args(PersonAnswer))}")
    own = _queue(ask, _questions(ask), _person(ask))
    if own is None:
        raise UsageError("the questions of this run are still being read", remedy="answer again in a moment")
    asked = _asked(ask, own)
    was_answered = any(_is_shown(ask, one) and one.answer is not None for one in own.places())
    step = ask.form.get("step", "")
    number = int(step) if step.isascii() and step.isdecimal() and len(step) < 9 else None
    own.answer(asked, cast(PersonAnswer, given), ask.form.get("note", "").replace("\r\n", "\n").strip(), number)
    if was_answered:
        return _path(ask)  # a changed answer stays in view
    own.refresh()
    following = _open_after(ask, own.places())
    return _queue_path(ask) if following is None else _entry_path(ask, following)


def _questions(ask: Ask) -> RunQuestions:
    own = ask.project.annotations
    folder = ask.project.run(ask.place["run"])
    suite = own.suite(folder)
    return own.questions(folder, suite, own.rubric(suite, ask.place["rubric"]))


def _queue(ask: Ask, found: RunQuestions, person: AnnotatorSession) -> AnnotationQueue | None:
    questions = found.within(_WITHIN_S)
    if questions is None:
        return None
    return ask.project.annotations.queue(found, questions, person, ask.query.get("criterion", ""))


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


def _asked(ask: Ask, own: AnnotationQueue) -> QueuedQuestion:
    return own.find(ask.place["case"], ask.attempt(), ask.place["criterion"])


def _is_shown(ask: Ask, one: QueueEntry) -> bool:
    place = ask.place
    return (one.case_id, str(one.attempt), one.criterion) == (
        place.get("case"),
        place.get("attempt"),
        place.get("criterion"),
    )


def _path(ask: Ask, case: str = "", attempt: int = 0, criterion: str = "", *, pieces: bool = False) -> str:
    """The address of a question, or of its pieces; without a case of the one that is shown."""
    which = (case, attempt, criterion) if case else tuple(ask.place[name] for name in ("case", "attempt", "criterion"))
    more = ("pieces",) if pieces else ()
    return path_of("annotate", ask.place["run"], ask.place["rubric"], *which, *more, **_who(ask.query))


def _queue_path(ask: Ask) -> str:
    return path_of("annotate", ask.place["run"], ask.place["rubric"], **_who(ask.query))


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


def _next_open(ask: Ask, own: AnnotationQueue) -> Markup | None:
    following = _open_after(ask, own.places())
    if following is None:
        return None
    return tag("p", link(_entry_path(ask, following), "Next open question ", tag("kbd", "o"), data_key="o"))


def _open_after(ask: Ask, places: Sequence[QueueEntry]) -> QueueEntry | None:
    """The next question without an answer after the one that is shown."""
    at = next((place + 1 for place, one in enumerate(places) if _is_shown(ask, one)), 0)
    return next((one for one in (*places[at:], *places[:at]) if one.answer is None and not _is_shown(ask, one)), None)


def _around(ask: Ask, own: AnnotationQueue) -> Markup:
    places = own.places()
    number = next((place for place, one in enumerate(places) if _is_shown(ask, one)), 0)
    links = [
        link(_entry_path(ask, places[place]), words, data_key=key)
        for place, words, key in ((number - 1, "← Previous", "ArrowLeft"), (number + 1, "Next →", "ArrowRight"))
        if 0 <= place < len(places)
    ]
    following = _open_after(ask, places)
    if following is not None:
        links.append(link(_entry_path(ask, following), "Next open ", tag("kbd", "o"), data_key="o"))
    return tag("nav", *links, class_="pager", aria_label="Questions")


def _entry_path(ask: Ask, one: QueueEntry) -> str:
    return _path(ask, one.case_id, one.attempt, one.criterion)


def _waiting(ask: Ask, found: RunQuestions) -> Page:
    read, every = found.progress
    bar = tag("progress", max=max(1, every), value=read, aria_label="Trials that were read")
    body = fragment(
        _crumbs(ask),
        tag("h1", "The questions are being found"),
        tag("p", bar, f" {read} of {every} trials were read. The page goes on by itself.", role="status"),
    )
    return Page(title="Annotate", body=body, section="Annotate", again_after_s=2)


def _unread(found: RunQuestions) -> Iterator[tuple[tuple[str, int], str]]:
    yield from list(found.problems.items())[:20]


PAGES = PageSet(
    shows={
        _QUEUE: queue,
        _QUESTION: question,
        _QUESTION + "/pieces/{piece}": piece,
    },
    acts={_QUESTION: answer},
)
