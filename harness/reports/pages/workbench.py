"""The workbench: a criterion and its prompt are edited, and the trials chosen that the change is tried on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from harness.errors import UsageError
from harness.judging.labels import LabelItem, LabelledItem, SortedLabels
from harness.judging.prompts import Prompt, PromptRegistry
from harness.judging.rubrics import Criterion, Rubric, rubric_names
from harness.judging.settings import judge_settings
from harness.judging.verdicts import Judgement
from harness.reports.pages.annotate import run_choice
from harness.reports.pages.drafts import MOST_TRIALS, CriterionDraft, new_id
from harness.reports.pages.markup import (
    UNKNOWN,
    Markup,
    bounded,
    chip,
    chosen_of,
    facts,
    fragment,
    hidden,
    link,
    path_of,
    row,
    run_link,
    table,
    tag,
    trial_path,
    when,
    whole_number,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.runs.judging import TryRequest, agents_models, estimate_try, model_decided
from harness.runs.store.folder import RunFolder, TrialKey
from harness.runs.store.judgements import latest, of_last_judge, read_judgements
from harness.suite.problems import first_words
from harness.suite.suites import Suite

# People's labels and the verdicts of the version in use, by trial, for one criterion of a run.


@dataclass(frozen=True, kw_only=True)
class ComparedVerdicts:
    """What is known of one criterion, or one item of a checklist, of one trial."""

    key: TrialKey
    criterion: str
    in_use: Judgement | None = None
    people: LabelledItem | None = None

    @property
    def right(self) -> str | None:
        """The answer that people settled on; None where they did not."""
        return None if self.people is None else self.people.answer


def compared_verdicts(
    folder: RunFolder, rubric: Rubric, criterion: str, labels: SortedLabels, tried: Iterable[Judgement] = ()
) -> list[ComparedVerdicts]:
    """Of all trials with a verdict or a label, in the planned order: first those with a label.

    `tried`: verdicts that tell which trajectory a trial has, where the version in use gave none.
    """
    every = (one for one in read_judgements(folder.path, rubric.name) if rubric.is_of(one.criterion, criterion))
    judged = latest(of_last_judge(every))
    own = {key: one.trajectory for key, one in judged.items()}
    own |= {(one.case_id, one.attempt, one.criterion): one.trajectory for one in tried}
    by_item = labels.by_item
    own |= _labelled(folder, rubric, criterion, by_item, own)
    order = {(one.case_id, one.attempt): place for place, one in enumerate(folder.manifest.planned)}
    found = [
        ComparedVerdicts(
            key=(case, attempt),
            criterion=name,
            in_use=judged.get((case, attempt, name)),
            people=by_item.get(LabelItem(case_id=case, trajectory=trajectory, criterion=name)),
        )
        for (case, attempt, name), trajectory in own.items()
        if (case, attempt) in order
    ]
    return sorted(found, key=lambda one: (one.people is None, order[one.key], one.criterion))


def _labelled(
    folder: RunFolder,
    rubric: Rubric,
    criterion: str,
    by_item: Mapping[LabelItem, LabelledItem],
    known: Mapping[tuple[str, int, str], str],
) -> dict[tuple[str, int, str], str]:
    """Labels that were made in this run, of trials that no judge has judged."""
    name = folder.manifest.run
    return {
        (item.case_id, label.attempt, item.criterion): item.trajectory
        for item, one in by_item.items()
        if rubric.is_of(item.criterion, criterion)
        for label in one.labels
        if label.run == name and (item.case_id, label.attempt, item.criterion) not in known
    }


_TRIAL = "trial."
_FEW = 10
"""Trials that are chosen at first where people labelled none."""


def workbench(ask: Ask) -> Page:
    """`/workbench?run=&rubric=&criterion=&version=`."""
    name, rubric, criterion = (ask.query.get(key, "") for key in ("run", "rubric", "criterion"))
    if not name:
        begin = tag("h2", "Begin"), run_choice(ask.project, "workbench")
        return Page.of("Workbench", _lead(), _drafts(ask), *begin, section="Workbench")
    folder = ask.project.run(name)
    suite = ask.project.annotations.suite(folder)
    if not (rubric and criterion):
        criteria = _criteria(ask, folder, suite)
        return Page.of("Workbench", criteria, section="Workbench", up=("/workbench", "Workbench"))
    own = ask.project.annotations.rubric(suite, rubric)
    up = path_of("workbench", run=name), name
    form = _form(ask, folder, suite, own, model_decided(own, criterion))
    return Page.of(f"{own.name} · {criterion}", *form, section="Workbench", up=up)


def draft(ask: Ask) -> str:
    """Keeps the change with what it would cost, and asks nobody yet."""
    form = {key: value.replace("\r\n", "\n") for key, value in ask.form.items()}
    folder = ask.project.run(form.get("run", ""))
    suite = ask.project.annotations.suite(folder)
    rubric = ask.project.annotations.rubric(suite, form.get("rubric", ""))
    criterion = model_decided(rubric, form.get("criterion", ""))
    try:
        made = CriterionDraft(
            id=new_id(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            run=form["run"],
            rubric=form["rubric"],
            rubric_digest=rubric.digest,
            criterion=criterion.id,
            statement=form.get("statement", "").strip() or criterion.statement,
            fail=form.get("fail", "").strip() or None,
            eligibility=form.get("eligibility", "").strip() or None,
            prompt=rubric.prompt,
            prompt_version=form.get("version", "")[:100],
            prompt_text=form.get("prompt_text", ""),
            trials=tuple(_chosen(form.items())),
        )
    except ValidationError as error:
        field, problem = first_words(error)
        raise UsageError(f"field {field!r}: {problem}", remedy=f"choose 1 to {MOST_TRIALS} trials") from None
    asked = TryRequest(
        rubric=made.changed_rubric(rubric),
        criterion=made.criterion,
        prompt=made.tried_prompt,
        settings=judge_settings(ask.project.path, suite.folder, {}, agents_models(folder), options=None),
        trials=made.trials,
    )
    estimate = estimate_try(ask.project.path, folder, asked)
    ask.project.tries.drafts.write(made.model_copy(update={"estimate": estimate}))
    return path_of("workbench", made.id)


def _chosen(fields: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    found = []
    for key, value in fields:
        case, _, attempt = value.rpartition("/")
        if key.startswith(_TRIAL) and case and (number := whole_number(attempt)) is not None:
            found.append((case, number))
    return found


def _lead() -> Markup:
    return tag(
        "p",
        "Change the words of a criterion or of its prompt, and try them on a few trials: the verdicts stand beside"
        " people's labels and beside those of the version in use. Nothing of the run changes.",
        class_="prose",
    )


def _drafts(ask: Ask) -> Markup | None:
    rows = [
        row(
            link(path := path_of("workbench", one.id), f"{one.rubric} · {one.criterion}"),
            run_link(one.run),
            chip(one.state, "open" if one.state != "ended" else ""),
            str(len(one.trials)),
            when(one.created),
            href=path,
        )
        for one in ask.project.tries.drafts.latest()
    ]
    if not rows:
        return None
    heads = ("criterion", "run", "state", "#trials", "made")
    return fragment(tag("h2", "Tried before"), table(heads, rows, caption="Tries", class_="plain list"))


def _criteria(ask: Ask, folder: RunFolder, suite: Suite) -> Markup:
    parts: list[Markup] = [facts((("run", run_link(folder.manifest.run)), ("suite", suite.name)))]
    for name in rubric_names(suite.folder):
        rubric = ask.project.annotations.rubric(suite, name)
        rows = [
            row(
                link(path := path_of("workbench", run=folder.manifest.run, rubric=name, criterion=one.id), one.id),
                bounded(one.statement, 300),
                one.version,
                href=path,
            )
            for one in rubric.criteria
            if one.kind != "code"
        ]
        if rows:
            heads = ("criterion", "passes when", "version")
            parts += [tag("h2", name), table(heads, rows, caption=f"Criteria of {name}", class_="plain list")]
    return fragment(*parts)


def _form(ask: Ask, folder: RunFolder, suite: Suite, rubric: Rubric, criterion: Criterion) -> Iterator[Markup | None]:
    registry = PromptRegistry(ask.project.path)
    version = ask.query.get("version", "")
    prompt = registry.version(rubric.prompt, version) if version else registry.get(rubric.prompt)
    found = compared_verdicts(folder, rubric, criterion.id, ask.project.annotations.labels(suite, rubric))
    kept = {
        "run": folder.manifest.run,
        "rubric": ask.query["rubric"],
        "criterion": criterion.id,
        "version": prompt.version,
    }
    yield _versions(ask, registry, prompt)
    yield tag(
        "form",
        *(hidden(key, value) for key, value in kept.items()),
        *_texts(criterion, prompt),
        tag("h2", "Trials"),
        _trials(folder, found),
        tag("p", tag("button", "Show what it would cost"), " Nothing is sent yet.", class_="dim"),
        method="post",
        action="/workbench",
        class_="fields wide",
    )


def _texts(criterion: Criterion, prompt: Prompt) -> list[Markup]:
    fields = [("fail", "Fails when (empty: where it does not pass)", criterion.fail or "", "2", 20_000)]
    fields += [("eligibility", "Applies when (empty: always)", criterion.eligibility or "", "2", 20_000)]
    if criterion.kind == "llm":  # the items of a checklist are the statements of each case
        fields.insert(0, ("statement", "Passes when", criterion.statement, "3", 20_000))
    fields.append(("prompt_text", f"Prompt {prompt.name}@{prompt.version}", prompt.text, "14", 200_000))
    return [
        tag(
            "label",
            tag("span", label),
            # a first line break in a textarea is not part of its text
            tag("textarea", f"\n{text}", name=name, rows=rows, maxlength=str(most), spellcheck="false"),
        )
        for name, label, text, rows, most in fields
    ]


def _versions(ask: Ask, registry: PromptRegistry, prompt: Prompt) -> Markup | None:
    labels = registry.labels(prompt.name)
    links: list[tuple[str, str, bool]] = []
    for one in registry.versions(prompt.name)[-20:]:
        named = ", ".join(label for label, its in labels.items() if its == one)
        kept = {key: ask.query[key] for key in ("run", "rubric", "criterion")}
        text = f"{prompt.name}@{one}" + (f" ({named})" if named else "")
        links.append((path_of("workbench", **kept, version=one), text, one == prompt.version))
    return chosen_of("Begin with prompt version", links)


def _trials(folder: RunFolder, found: Sequence[ComparedVerdicts]) -> Markup:
    by_key: dict[tuple[str, int], list[ComparedVerdicts]] = {}
    for one in found:
        by_key.setdefault(one.key, []).append(one)
    for key in list(folder.committed())[:MOST_TRIALS]:
        by_key.setdefault(key, [])
    shown = list(by_key.items())[:MOST_TRIALS]
    labelled = sum(any(one.people for one in some) for _, some in shown)
    rows = [
        _trial(folder, number, key, some, chosen=any(one.people for one in some) if labelled else number < _FEW)
        for number, (key, some) in enumerate(shown)
    ]
    if not rows:
        return tag("p", "No trial of this run has ended yet.", class_="empty")
    return table(("trial", "people", "in use"), rows, caption="Trials to choose from")


def _trial(
    folder: RunFolder, number: int, key: tuple[str, int], some: Sequence[ComparedVerdicts], *, chosen: bool
) -> Markup:
    box = tag("input", type="checkbox", name=f"{_TRIAL}{number}", value=f"{key[0]}/{key[1]}", checked=chosen)
    name = tag("label", box, f" {key[0]} / {key[1]}", class_="check")
    see = link(trial_path(folder.manifest.run, *key), "see", aria_label=f"See {key[0]} / {key[1]}")
    people = [one.people.answer or one.people.settled for one in some if one.people is not None]
    in_use = [one.in_use.answer for one in some if one.in_use is not None]
    return row(
        fragment(name, " ", see),
        ", ".join(map(words, people)) or UNKNOWN,
        ", ".join(map(words, in_use)) or UNKNOWN,
    )


PAGES = PageSet(
    shows={"/workbench": workbench}, acts={"/workbench": draft}, entry=("Improve", "Workbench", "/workbench")
)
