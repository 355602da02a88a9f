"""One trial: what happened, what scoring says of it, and what can be done with it."""

import re
import shlex
from collections.abc import Iterator

from harness.cassettes.check import ENDINGS
from harness.errors import UsageError
from harness.judging.transcripts import build_transcript
from harness.judging.views import view as judge_view
from harness.reports.judged import judged_trials
from harness.reports.pages import trial_parts as parts
from harness.reports.pages.markup import (
    Markup,
    around,
    bounded,
    fold,
    folded_value,
    fragment,
    link,
    pager,
    pages_of,
    path_of,
    section,
    shown_text,
    success_mark,
    tag,
    trial_path,
    value_text,
    whole_number,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet, Raw
from harness.reports.pages.run import kept_query, listed
from harness.reports.pages.run_index import neighbours
from harness.reports.pages.sources import Sources
from harness.reports.pages.trial_parts import Timeline
from harness.runs.measured_trials import suite_of
from harness.runs.store.beside_trials import cause_of
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.runs.store.judgements import kept_rubric
from harness.runs.store.manifest import SUITE_NAME
from harness.runs.store.storage import read_checked
from harness.scoring.scorecard import Scorecard
from harness.traces.trial import Trial

_WHOLE = 2_000_000
"""Characters of one text that is loaded whole."""
_BESIDE = 20
_TRIAL = "/runs/{run}/trials/{case}/{attempt}"


def trial(ask: Ask) -> Page:
    """`/runs/{run}/trials/{case}/{attempt}`."""
    folder, stored, card = _found(ask)
    own, base = stored.trial, _base(ask)
    pages = pages_of(len(own.trajectory.steps), parts.STEPS)
    shown = Timeline(
        base=base,
        trial=own,
        diagnoses=card.diagnoses,
        recorded=_is_recorded(ask, folder, own),
        number=ask.number("page", most=pages),
        texts=ask.texts,
        sources=Sources(own.trajectory.steps),
    )
    ended = f"{words(card.outcome)}: {bounded(card.reason, 1000)}" if card.reason else None
    title = f"{own.case_id} / {own.attempt}"
    beside = pager(shown.number, pages, base, ask.query)
    body = fragment(
        _crumbs(ask),
        tag("div", tag("h1", title), success_mark(card.success, card.outcome), class_="title"),
        tag("p", ended, class_="alert") if ended else None,
        section("Checks", parts.checks(card, shown.limit), id="checks"),
        parts.probable_cause(card, cause_of(folder, own.case_id, own.attempt), shown),
        parts.by_time(shown),
        _said(folder, own, card, shown),
        _about(ask, stored, folder, card),
        tag("h2", "Timeline", id="timeline"),
        beside,
        parts.timeline(shown),
        beside,
        tag("h2", "Final answer"),
        _final(own, shown),
    )
    return Page(title=title, body=body, section="Runs")


def _final(own: Trial, shown: Timeline) -> Markup:
    if own.trajectory.final_output is None:
        return tag("p", "The agent gave none.", class_="empty")
    end = len(own.trajectory.steps)
    return shown_text(value_text(own.trajectory.final_output), 20_000, marked=parts.marking(shown, end))


def step(ask: Ask) -> Page:
    """`.../steps/{step}`: one step whole."""
    _, stored, card = _found(ask)
    steps = stored.trial.trajectory.steps
    number = _number(ask.place["step"], len(steps))
    sources = Sources(steps)
    shown = Timeline(base=_base(ask), trial=stored.trial, diagnoses=card.diagnoses, sources=sources)
    whole = parts.one_step(steps[number], shown, parts.origins(card.diagnoses), _WHOLE)
    return Page(title="", body=whole, part=True)


def request(ask: Ask) -> Page:
    """`.../requests/{step}`: what was sent to the model for a step, and what it answered."""
    _, stored, _ = _found(ask)
    steps = stored.trial.trajectory.steps
    number = _number(ask.place["step"], len(steps))
    return Page(title="", body=parts.request_part(*parts.requests_of(stored.spans, steps[number].span_id)), part=True)


def evidence(ask: Ask) -> Page:
    """`.../evidence/{rubric}/{criterion}`: the pieces of the transcript that a judge saw."""
    folder, stored, _ = _found(ask)
    judged = judged_trials(folder).get((stored.trial.case_id, stored.trial.attempt), ())
    names = ask.place["rubric"], ask.place["criterion"]
    found = next((one for one in judged if (one.rubric, one.criterion) == names), None)
    if found is None:
        raise UsageError("there is no verdict on this criterion")
    criterion = kept_rubric(folder.path, found.rubric, found.rubric_digest).criterion(found.criterion)
    if criterion is None:
        raise UsageError("the stored rubric does not have this criterion any more")
    suite = suite_of(ask.project.path, folder)
    case = next((one for one in suite.cases if one.id == stored.trial.case_id), None)
    pieces = judge_view(build_transcript(stored.trial, case), criterion.evidence, criterion.agents)
    shown = [
        fragment(tag("h4", f"{one.ref} {one.who}"), shown_text(one.text, 20_000, class_="pre")) for one in pieces[:200]
    ]
    head = tag("p", f"{criterion.statement} The judge saw {len(pieces)} pieces.", class_="prose")
    return Page(title="", body=tag("div", head, *shown, class_="loaded"), part=True)


def recording(ask: Ask) -> Page:
    """`.../recordings/{step}/{call}`: what answered a replayed call."""
    folder, stored, _ = _found(ask)
    steps = stored.trial.trajectory.steps
    calls = steps[_number(ask.place["step"], len(steps))].calls
    place = whole_number(ask.place["call"])
    if place is None or place >= len(calls):
        raise UsageError("this step has no such call")
    suite = folder.manifest.suite
    if not re.fullmatch(SUITE_NAME, suite):
        raise UsageError(f"{bounded(suite, 100)!r} is not a suite")
    found = parts.recordings_of(ask.project.path / "cassettes", suite, stored.trial.case_id, calls[place])
    return Page(title="", body=found, part=True)


def picture(ask: Ask) -> Raw:
    """`.../pictures/{file}`: a screenshot that belongs to the trial."""
    _, stored, _ = _found(ask)
    name = ask.place["file"]
    if name not in {seen.screenshot for seen in stored.trial.pages.values()}:
        raise UsageError("this trial has no such picture")
    return Raw(content=read_checked(stored.folder, name), kind="image/png")


def archive(ask: Ask) -> Raw:
    """`.../end_state.tar`: the files that the agent changed, to be saved."""
    _, stored, _ = _found(ask)
    if stored.end_state is None:
        raise UsageError("no archive of files was stored with this trial")
    name = f"{stored.trial.case_id}-{stored.trial.attempt}.tar"
    return Raw(content=read_checked(stored.folder, stored.end_state.name), kind="application/x-tar", name=name)


def _found(ask: Ask) -> tuple[RunFolder, StoredTrial, Scorecard]:
    folder = ask.project.run(ask.place["run"])
    case_id, attempt = ask.place["case"], ask.attempt()
    stored = folder.stored(case_id, attempt)
    if stored is None:
        raise UsageError(f"run {ask.place['run']!r} has no trial {bounded(case_id, 100)!r} attempt {attempt} yet")
    return folder, stored, folder.scorecard(case_id, attempt)


def _base(ask: Ask) -> str:
    return trial_path(ask.place["run"], ask.place["case"], ask.attempt())


def _number(text: str, count: int) -> int:
    found = whole_number(text)
    if found is None or found >= count:
        raise UsageError(f"this trial has no step {text[:40]!r}")
    return found


def _crumbs(ask: Ask) -> Markup:
    """The way up to the list that led here, and the trials before and after in it."""
    run, key, asked = ask.place["run"], (ask.place["case"], ask.attempt()), kept_query(ask)
    if asked:
        keys = [(one.case_id, one.attempt) for one in listed(ask, ask.project.index.lines(run))]
        before, after = neighbours(keys, keys.index(key) if key in keys else None)
    else:
        before, after = ask.project.index.around(run, key)
    up = tag("span", link("/", "Runs"), " / ", link(path_of("runs", run, **asked), run, data_up=True))
    beside = around((before, after), lambda other: path_of("runs", run, "trials", *other, **asked))
    return tag("div", up, beside, class_="crumbs")


def _said(folder: RunFolder, own: Trial, card: Scorecard, shown: Timeline) -> Markup:
    judged = judged_trials(folder).get((own.case_id, own.attempt), ())
    found = {
        "Diagnosis": parts.diagnoses(card, shown),
        "Broken rules": parts.broken_rules(card, shown),
        "Judges": parts.judgements(judged, own.trajectory.steps, shown),
    }
    told = [section(title, one, id=title.partition(" ")[0].lower()) for title, one in found.items() if one is not None]
    return tag("div", *told, class_="said")


def _about(ask: Ask, stored: StoredTrial, folder: RunFolder, card: Scorecard) -> Markup:
    own, base = stored.trial, _base(ask)
    recorded = _is_recorded(ask, folder, own)
    return tag(
        "div",
        parts.states(folder, own),
        parts.files(own, base),
        parts.pictures(stored, base),
        _misses(own),
        parts.metrics(card),
        fold(f"Notes: {len(notes)}", *(tag("p", one) for one in notes)) if (notes := [*parts.notes(own)]) else None,
        parts.output(own),
        parts.logs(own),
        _beside(ask, folder, own) if ask.texts is None else None,
        fold("Commands and recordings", *_commands(folder, own, recorded=recorded)),
        class_="about",
    )


def _beside(ask: Ask, folder: RunFolder, own: Trial) -> Markup | None:
    """Links to this trial beside that of other runs of the suite, the newest first."""
    others = [
        entry.name
        for entry in ask.project.index.entries()
        if entry.manifest is not None
        and entry.name != ask.place["run"]
        and entry.manifest.suite == folder.manifest.suite
        and any((one.case_id, one.attempt) == (own.case_id, own.attempt) for one in entry.manifest.planned)
    ][:_BESIDE]
    links = [
        tag("li", link(path_of("compare", other, ask.place["run"], own.case_id, own.attempt), other))
        for other in others
    ]
    return fold("Beside the same trial of another run", tag("ul", *links, class_="names")) if links else None


def _is_recorded(ask: Ask, folder: RunFolder, own: Trial) -> bool:
    suite = folder.manifest.suite
    if not re.fullmatch(SUITE_NAME, suite):
        return False
    return any((ask.project.path / "cassettes" / suite / f"{own.case_id}{one}").is_file() for one in ENDINGS)


def _misses(own: Trial) -> Markup | None:
    if not own.misses:
        return None
    shown = [folded_value(f"call {place}", miss, 4000) for place, miss in enumerate(own.misses[:100], 1)]
    return fold(f"Calls without a recording: {len(own.misses)}", *shown, opened=True)


def _commands(folder: RunFolder, own: Trial, *, recorded: bool) -> Iterator[Markup]:
    """Commands to copy: the app itself starts nothing."""
    manifest = folder.manifest
    run, case = shlex.quote(manifest.run), shlex.quote(own.case_id)
    again = ["harness", "run", manifest.suite, "--agent", manifest.agent, "--case", own.case_id]
    for name, value in manifest.variables.items():
        again += ["--with", f"{name}={value}"]
    yield command_line("run this case again", shlex.join(again))
    yield command_line("explain it in a terminal", f"harness explain {run} {case} --attempt {own.attempt}")
    yield command_line("make a case of it", f"harness case from-trace {run} {case}")
    yield command_line("find the step that made it fail", f"harness blame {run} {case}")
    if recorded:
        yield tag("p", link(path_of("cassettes", manifest.suite, own.case_id), "Recordings of this case"))


def command_line(what: str, words: str) -> Markup:
    button = tag("button", "Copy", type="button", class_="quiet small", data_copy=words)
    return tag("p", tag("span", what, class_="dim"), " ", tag("code", words), " ", button, class_="command")


PAGES = PageSet(
    shows={
        _TRIAL: trial,
        _TRIAL + "/steps/{step}": step,
        _TRIAL + "/requests/{step}": request,
        _TRIAL + "/evidence/{rubric}/{criterion}": evidence,
        _TRIAL + "/recordings/{step}/{call}": recording,
        _TRIAL + "/pictures/{file}": picture,
        _TRIAL + "/end_state.tar": archive,
    }
)
