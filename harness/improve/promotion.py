"""What is done with an accepted candidate: versions in `prompts/` with the label `candidate`, and a patch."""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.drift.issue_text import line_of, span
from harness.errors import ResultsError, UsageError
from harness.improve.candidates import candidate_of, components_of, path_of, texts_of
from harness.improve.outcome import OptimisationOutcome, StoredOptimisation
from harness.improve.report import held_out_rows, held_out_words, result_lines
from harness.judging.prompts import PromptRegistry
from harness.suite.suites import Suite
from harness.values import Frozen

LABEL = "candidate"
_LONGEST = 1_000
"""Characters of a line of the evidence."""


class Promotion(Frozen):
    """An accepted candidate, ready for review."""

    run: str
    candidate: str
    title: str
    evidence: str
    """Markdown: what was measured, against what, and how sure that is."""
    patch: str
    """A unified diff of the agent's files, relative to the project, as `git apply` takes it."""
    versions: tuple[str, ...] = ()
    """`name@version` of each changed text in `prompts/`."""


def promote(project: Path, suite: Suite, stored: StoredOptimisation) -> Promotion:
    """Writes the versions. Raises UsageError if nothing was accepted, or the texts in use have changed since."""
    outcome = stored.outcome
    if outcome is None or outcome.accepted is None:
        why = "it has not ended" if outcome is None else outcome.why
        raise UsageError(
            f"{stored.folder.name} accepted no candidate: {why}",
            remedy="there is nothing to promote; `harness view` shows what was tried",
        )
    start, accepted = stored.candidate(outcome.start), stored.candidate(outcome.accepted)
    if accepted.texts.keys() != start.texts.keys():
        raise ResultsError(f"{stored.folder}: {accepted.id} has other files than {start.id}")
    in_use = candidate_of(texts_of(suite, components_of(suite)))
    if in_use.id != start.id:
        raise UsageError(
            f"the texts in use have changed since {stored.folder.name} began from {start.id}",
            remedy="optimise again: what was measured is not what would be changed",
        )
    changed = {path: text for path, text in accepted.texts.items() if text != start.texts[path]}
    records, run = stored.records, stored.folder.name
    rows = list(held_out_rows(records[start.id], records[accepted.id]))
    places = {name: _path_in_patch(project, path_of(suite, name)) for name in changed}
    registry = PromptRegistry(project)
    made = [registry.add(_prompt_name(suite, path), text, LABEL) for path, text in changed.items()]
    return Promotion(
        run=run,
        candidate=accepted.id,
        title=line_of(f"{suite.name}: Improve the prompt of {outcome.component or 'all components'}", _LONGEST),
        evidence="\n".join(_evidence(run, outcome, rows)),
        patch="".join(_patch({places[name]: (start.texts[name], text) for name, text in changed.items()})),
        versions=tuple(f"{one.name}@{one.version}" for one in made),
    )


def _path_in_patch(project: Path, file: Path) -> str:
    """A file as a patch names it. Raises UsageError if it is outside of the project."""
    found, root = file.resolve(), project.resolve()
    if not found.is_relative_to(root):
        raise UsageError(
            f"the text {found} is outside of the project, and a patch of the project cannot change it",
            remedy=f"--project with a folder that holds both, or take the text from prompts/ label {LABEL}",
        )
    return found.relative_to(root).as_posix()


def _lines(text: str) -> list[str]:
    """Lines as git counts them: a form feed or a line separator of Unicode ends none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _prompt_name(suite: Suite, path: str) -> str:
    return f"{suite.name}-{path.rpartition('.')[0] or path}".replace("/", "-").replace(":", "-")[:100]


def _evidence(run: str, outcome: OptimisationOutcome, rows: Sequence[str]) -> Iterator[str]:
    """Each line begins with a word of the harness and ends at a fixed place: an outcome may come from anybody, and `git
    apply` looks for patches in all that precedes one.
    """
    held_out = outcome.result.held_out
    yield f"Found by {span(outcome.optimiser)} in the optimisation {span(run)}."
    yield ""
    lines = [] if held_out is None else [held_out_words(held_out), *rows]
    yield from (f"- {span(line, _LONGEST)}" for line in (*lines, *result_lines(outcome)))


def _patch(changed: dict[str, tuple[str, str]]) -> Iterator[str]:
    for path, (old, new) in sorted(changed.items()):
        yield f"diff --git a/{path} b/{path}\n"
        for line in difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}"):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
