"""A criterion or a prompt that was tried, saved as a candidate: what is in use stays in use."""

from pathlib import Path
from typing import Final

import yaml

from harness.case import Suite
from harness.documents import write_atomically
from harness.errors import UsageError
from harness.judge import Criterion, PromptRegistry, Rubric, load_rubric
from harness.pipeline.judge.calibrating import CANDIDATE
from harness.values import Frozen

_MOST: Final = 1000


class SavedCandidate(Frozen):
    """What was written."""

    prompt: str | None = None
    """`<name>@<version>`, which now has the label `candidate`."""
    rubric: str | None = None
    """The name under which `--rubric` finds the rubric with the changed criterion."""


def save_candidate(
    project: Path, suite: Suite, rubric: str, criterion: Criterion, prompt_text: str, *, keeps_labels: bool
) -> SavedCandidate:
    """Saves what differs from what the rubric and its prompt are now: the prompt as its next version with the label
    `candidate`, the criterion in `rubrics/<rubric>.candidate.yaml` of the suite.

    `keeps_labels`: the changed criterion asks people the same question, so that it keeps its version, and their labels
    count; else it gets the next version. Raises UsageError where nothing differs.
    """
    known = load_rubric(rubric, suite.folder)
    registry = PromptRegistry(project)
    saved_prompt, saved_rubric = None, None
    if prompt_text != registry.get(known.prompt).text:
        prompt = registry.add(known.prompt, prompt_text, CANDIDATE)
        saved_prompt = f"{prompt.name}@{prompt.version}"
    before = known.criterion(criterion.id)
    if before is None:
        raise UsageError(f"rubric {rubric!r} has no criterion {criterion.id!r} any more", remedy="try it again")
    if criterion != before:
        version = before.version if keeps_labels else _next_version(before.version)
        changed = criterion.model_copy(update={"version": version})
        saved_rubric = _write(suite.folder, rubric, known.with_criterion(changed))
    if saved_prompt is None and saved_rubric is None:
        raise UsageError(
            "neither the criterion nor the prompt differs from what is in use", remedy="change one of them"
        )
    return SavedCandidate(prompt=saved_prompt, rubric=saved_rubric)


def _write(folder: Path, name: str, rubric: Rubric) -> str:
    """Under the first free name; a file with the same content is taken as it is."""
    plain = rubric.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    content = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=118).encode()
    stem = name.partition(f".{CANDIDATE}")[0]
    for number in range(1, _MOST):
        free = f"{stem}.{CANDIDATE}" + (f"-{number}" if number > 1 else "")
        path = folder / "rubrics" / f"{free}.yaml"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
            return free
        if path.read_bytes() == content:
            return free
    raise UsageError(f"there are {_MOST} candidates of {stem!r}", remedy="delete those that are not needed")


def _next_version(version: str) -> str:
    return str(int(version) + 1) if version.isascii() and version.isdecimal() else f"{version}.1"
