"""One session of production: what its spans tell, and its scores."""

from collections.abc import Iterator, Sequence

from harness.errors import UsageError
from harness.online import Session, SessionScore, SessionStore, latest_scores
from harness.report import model_requests
from harness.trace import Span, Trial
from harness.view.asking import Ask, Page, PageSet
from harness.view.markup import Markup, fragment, link, tag
from harness.view.production import opened_store, session_path
from harness.view.tables import facts, fold, pager, pages_of
from harness.view.trial import findings
from harness.view.trial.requests import request_part
from harness.view.trial.steps import PER_PAGE, Timeline, one_step, timeline
from harness.view.trial.texts import folded_value, shown_text, value_text
from harness.view.wording import UNKNOWN, bounded, chip

_WHOLE = 2_000_000
_PATH = "/production/sessions/{key}"


def session(ask: Ask) -> Page:
    """`/production/sessions/{key}`."""
    store, found = _found(ask)
    scores = list(latest_scores(store.score_store.of_session(found.row.key)).values())
    trial = found.trial()
    title = bounded(found.row.key, 200)
    head = fragment(
        tag("p", link("/production", "Production", data_up=True), class_="crumbs"),
        tag("h1", title),
        facts(_facts(found)),
        *(tag("p", bounded(note.problem), class_="alert") for note in list(found.notes)[:20]),
        tag("div", *_scores(scores, trial, found.row.key), class_="said"),
    )
    if trial is None:
        nothing = tag("p", "The spans tell of no agent, model or tool.", class_="empty")
        return Page(title=title, body=fragment(head, nothing), section="Production")
    pages = pages_of(len(trial.trajectory.steps), PER_PAGE)
    shown = _timeline(found.row.key, trial, scores, ask.number("page", most=pages))
    body = fragment(
        head,
        _commands(found),
        tag("h2", "Timeline", id="timeline"),
        pager(shown.number, pages, session_path(found.row.key), ask.query),
        timeline(shown),
        pager(shown.number, pages, session_path(found.row.key), ask.query),
        tag("h2", "Final answer"),
        shown_text(value_text(trial.trajectory.final_output), 20_000),
    )
    return Page(title=title, body=body, section="Production")


def step(ask: Ask) -> Page:
    """`.../steps/{step}`: one step whole."""
    _, found = _found(ask)
    trial, number = _numbered(ask, found)
    shown = _timeline(found.row.key, trial, (), 1)
    return Page(title="", body=one_step(trial.trajectory.steps[number], shown, {}, _WHOLE), part=True)


def request(ask: Ask) -> Page:
    """`.../requests/{step}`: what was sent to the model for a step, as its span tells."""
    _, found = _found(ask)
    trial, number = _numbered(ask, found)
    span_id = trial.trajectory.steps[number].span_id
    own = [span for span in found.spans if span.span_id == span_id]
    if not (sent := model_requests(own)):  # of a sender that is no harness
        return Page(title="", body=tag("div", *map(_span, own[:20]), class_="loaded"), part=True)
    earlier = [span for span in found.spans if own and span.start_ns < own[0].start_ns]
    return Page(title="", body=request_part(sent, model_requests(earlier)), part=True)


def _span(span: Span) -> Markup:
    """A span as it was received."""
    told = [folded_value(bounded(name, 120), value, _WHOLE) for name, value in list(span.attributes.items())[:200]]
    return fragment(tag("h4", bounded(span.name, 200)), *told)


def _found(ask: Ask) -> tuple[SessionStore, Session]:
    store = opened_store(ask.project.path)
    if store is None:
        raise UsageError("nothing of production is stored", remedy="harness ingest serve")
    return store, store.session(ask.place["key"])


def _numbered(ask: Ask, found: Session) -> tuple[Trial, int]:
    trial, text = found.trial(), ask.place["step"]
    is_number = text.isascii() and text.isdecimal() and len(text) < 9
    if trial is None or not is_number or int(text) >= len(trial.trajectory.steps):
        raise UsageError("this session has no such step")
    return trial, int(text)


def _timeline(key: str, trial: Trial, scores: Sequence[SessionScore], number: int) -> Timeline:
    found = [one for score in scores if score.card is not None for one in score.card.diagnoses]
    return Timeline(base=session_path(key), trial=trial, diagnoses=tuple(found), number=number)


def _facts(found: Session) -> Iterator[tuple[str, Markup | str]]:
    row = found.row
    yield "sender", f"{row.source}{'' if row.trusted else ', not trusted: evidence has no provenance'}"
    yield "release", bounded(row.release, 100) or UNKNOWN
    yield "model", bounded(row.model, 100) or UNKNOWN
    yield "records", f"{row.records}, {row.errors} errors"
    yield "duration", f"{row.duration_s:.1f} s"
    if row.feedback is not None:
        yield "lowest feedback", f"{row.feedback:.2f}"
    if row.users:
        yield "users", bounded(", ".join(row.users[:10]), 200)


def _scores(scores: Sequence[SessionScore], trial: Trial | None, key: str) -> Iterator[Markup]:
    del key
    for one in scores:
        if one.card is not None:
            yield tag("h2", f"Scored by {one.suite}")
            yield findings.checks(one.card, 1200)
            yield findings.diagnoses(one.card) or Markup()
            yield findings.metrics(one.card)
        if one.judgements:
            yield tag("h2", f"Judged by {one.suite} · {one.rubric}")
            steps = () if trial is None else trial.trajectory.steps
            yield findings.judgements(one.judgements, steps, None) or Markup()
        for note in one.notes[:20]:
            yield tag("p", chip("note", "open"), bounded(note))
    if not scores:
        yield tag("p", "This session is not scored. ", tag("code", "harness online score SUITE"), class_="notice")


def _commands(found: Session) -> Markup:
    import shlex

    words = f"harness case from-trace --session {shlex.quote(found.row.key)}"
    button = tag("button", "Copy", type="button", class_="quiet small", data_copy=words)
    return fold(
        "Commands",
        tag(
            "p", tag("span", "make a case of it", class_="dim"), " ", tag("code", words), " ", button, class_="command"
        ),
    )


PAGES = PageSet(
    shows={_PATH: session, _PATH + "/steps/{step}": step, _PATH + "/requests/{step}": request},
)
