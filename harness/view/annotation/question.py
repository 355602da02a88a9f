"""One question to a person: the criterion, the evidence, and the answers to choose from."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from harness.errors import UsageError
from harness.judge import AnnotationQueue, PersonAnswer, QueuedQuestion
from harness.view.markup import Markup, fragment, tag
from harness.view.trial.texts import shown_text
from harness.view.wording import bounded, chip

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
        yield tag("p", tag("b", f"{name}: {WORDS[one['answer']]} "), note, class_="notice")


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
    note = tag("textarea", shown["note"], name="note", maxlength="2000", rows="1", data_key="c", data_kept=True)
    return tag(
        "form",
        tag("div", *buttons, class_="answers-row"),
        tag("label", tag("span", "comment, written with the answer"), note),
        method="post",
        action=action,
        class_="answers",
        aria_label="Your answer",
    )
