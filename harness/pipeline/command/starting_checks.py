"""Checks that hold what a command was observed to do: the files it changed and what it printed in the end."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from harness.case import Case, Suite
from harness.errors import SandboxError
from harness.pipeline.command.secret_texts import SecretTexts
from harness.results import StoredTrial
from harness.sandbox import read_changed_file
from harness.score import Evidence, score_trial
from harness.trace import FileChange
from harness.values import JsonObject

_WORK: Final = PurePosixPath("/work")
_PATHS_MAX: Final = 60
_CONTENT_MAX: Final = 2000
_ANSWER_MAX: Final = 400


@dataclass(kw_only=True)
class StartingChecks:
    """The checks as a case's file has them, and what was left out of them."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def starting_checks(
    recorded: StoredTrial, replayed: StoredTrial | None, known: Collection[str], secrets: SecretTexts
) -> StartingChecks:
    """What both trials agree on; `replayed` None: there was no complete replay. `known`: paths of the snapshot."""
    found = StartingChecks()
    _add_files(found, recorded, replayed, known)
    _add_answer(found, recorded, replayed)
    return _without_secrets(found, secrets)


def holding(found: StartingChecks, suite: Suite, case: Case, trials: Iterable[StoredTrial]) -> StartingChecks:
    """Without the checks that one of the trials does not pass; nothing is run."""
    stored = list(trials)
    kept = StartingChecks(notes=list(found.notes))
    for check in found.checks:
        alone = Case.model_validate({**case.model_dump(mode="json", by_alias=True), "checks": [check]})
        bare = suite.model_copy(update={"checks": (), "cases": (alone,)})
        verdicts = [verdict for one in stored for verdict in _verdicts(bare, alone, one)]
        if all(passed is True for passed, _ in verdicts):
            kept.checks.append(check)
        else:
            why = next(reason for passed, reason in verdicts if passed is not True)
            kept.notes.append(f"the check {check['name']!r} is left out: {why}")
    return kept


def _verdicts(suite: Suite, case: Case, stored: StoredTrial) -> list[tuple[bool | None, str]]:
    evidence = Evidence(case=case, trial=stored.trial, tools=suite.tools, end_state_archive=stored.end_state)
    return [(verdict.passed, verdict.reason) for verdict in score_trial(evidence, suite).verdicts]


def _add_files(
    found: StartingChecks, recorded: StoredTrial, replayed: StoredTrial | None, known: Collection[str]
) -> None:
    changes = _changes(recorded)
    if changes is None:
        found.notes.append("what the command changed is not known completely: there is no check of its files")
        return
    again = changes if replayed is None else _changes(replayed) or {}
    varying = [path for path in {*changes, *again} if changes.get(path) != again.get(path)]
    own = {path for path in {*changes, *again} if _is_own(path, known)}
    expected = [change for path, change in changes.items() if path not in varying and path not in own]
    allowed = [*_own_patterns(own), *(path for path in varying if path not in own)]
    if varying:
        found.notes.append(f"{len(varying)} files differ in the replay: the check of files allows any change of them")
    if any(change.kind == "other" or not _is_text(change.path) for change in expected):
        found.notes.append("some changed files cannot be named in a check: there is no check of files")
        return
    parameters: dict[str, Any] = {**_patterns(expected), "allow": sorted(set(allowed))}
    links = {change.path: change.link for change in expected if change.kind == "link" and change.change != "deleted"}
    content = {path: {"equals": text.strip()} for path, text in _contents(recorded, expected)}
    given = {name: value for name, value in {**parameters, "links": links, "content": content}.items() if value}
    found.checks.append({"name": "files", "verifier": "files", **({"with": given} if given else {})})


def _changes(stored: StoredTrial) -> dict[str, FileChange] | None:
    end = stored.trial.end_state
    return {change.path: change for change in end.changes} if end is not None and end.complete else None


def _is_own(path: str, known: Collection[str]) -> bool:
    """Whether it is a program's settings or cache: hidden in the home folder, which the snapshot does not have."""
    parts = PurePosixPath(path)
    if "__pycache__" in parts.parts:
        return True
    inside = parts.relative_to(_WORK).parts if parts.is_relative_to(_WORK) else ()
    return bool(inside) and inside[0].startswith(".") and str(_WORK / inside[0]) not in known


def _own_patterns(paths: Iterable[str]) -> list[str]:
    """One for each folder of a program's own; a pattern with `**` reaches all below it."""
    found = set[str]()
    for path in paths:
        parts = PurePosixPath(path).parts
        at = parts.index("__pycache__") if "__pycache__" in parts else len(_WORK.parts)
        top = str(PurePosixPath(*parts[: at + 1]))
        found |= {top, f"{top}/**"}
    return sorted(found)


def _patterns(expected: Sequence[FileChange]) -> dict[str, list[str]]:
    """By kind of change; with very many of them, the folders that hold them."""
    above = {str(parent) for change in expected for parent in PurePosixPath(change.path).parents}
    found: dict[str, list[str]] = {}
    for change in expected:
        if change.kind == "link" and change.change != "deleted":
            continue
        is_folder = change.kind == "directory" and change.change != "deleted"
        if is_folder and change.path in above:
            continue
        found.setdefault(change.change, []).append(f"{change.path}/" if is_folder else change.path)
    return {kind: sorted(paths) if len(paths) <= _PATHS_MAX else _folders(paths) for kind, paths in found.items()}


def _folders(paths: Iterable[str]) -> list[str]:
    tops = {PurePosixPath(path).parts[:3] for path in paths}
    return sorted(f"{PurePosixPath(*top)}" if str(PurePosixPath(*top)) in paths else f"{PurePosixPath(*top)}/**"
                  for top in tops)  # fmt: skip


def _contents(stored: StoredTrial, expected: Sequence[FileChange]) -> list[tuple[str, str]]:
    """The text of small files that were added or modified."""
    found: list[tuple[str, str]] = []
    for change in expected[:_PATHS_MAX]:
        if change.kind != "file" or change.change == "deleted" or (change.size or 0) > _CONTENT_MAX:
            continue
        try:
            content = None if stored.end_state is None else read_changed_file(stored.end_state, change.path)
            text = None if content is None else content.decode("utf-8")
        except (SandboxError, UnicodeDecodeError):
            continue
        if text is not None and all(_is_plain(letter) for letter in text):
            found.append((change.path, text))
    return found


def _without_secrets(found: StartingChecks, secrets: SecretTexts) -> StartingChecks:
    kept = StartingChecks(notes=list(found.notes))
    for check in found.checks:
        given = check.get("with", {})
        content = given.get("content", {})
        plain = {path: rule for path, rule in content.items() if not secrets.is_in(rule["equals"])}
        if len(plain) < len(content):
            kept.notes.append(
                f"the text of {', '.join(sorted({*content} - {*plain}))} holds a secret: it is not a check"
            )
            given = {name: value for name, value in {**given, "content": plain}.items() if value}
        if any(secrets.is_in(value) for value in given.values() if isinstance(value, str)):
            kept.notes.append(f"the check {check['name']!r} is left out: it would hold a secret")
            continue
        kept.checks.append({**check, "with": given} if given else check)
    return kept


def _add_answer(found: StartingChecks, recorded: StoredTrial, replayed: StoredTrial | None) -> None:
    answer = recorded.trial.trajectory.final_output
    if not isinstance(answer, str) or not answer.strip():
        found.notes.append("the command printed nothing: there is no check of its answer")
        return
    if replayed is not None and replayed.trial.trajectory.final_output != answer:
        found.notes.append("what it prints differs in the replay: there is no check of its answer")
        return
    rule: JsonObject = {"equals": answer.strip()}
    if len(answer) > _ANSWER_MAX:
        last = answer.strip().splitlines()[-1].strip()
        if not 0 < len(last) <= _ANSWER_MAX:
            found.notes.append("what it prints is long: there is no check of its answer")
            return
        rule = {"contains": last}
    found.checks.append({"name": "answer", "verifier": "final_answer", "with": rule})


def _is_plain(letter: str) -> bool:
    return letter.isprintable() or letter in "\n\t"


def _is_text(path: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in path)
