"""The conformance checks of the importer interface, which run against any importer."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InvalidDocument
from harness.plugins import described
from harness.runs.foreign_runs import ImportedRun, import_with
from harness.traces.formats.found import Importer, ImportOptions
from harness.values import digest_of

_CREDENTIAL = "sk-proj-Zq4kT81mVx0bLr7WcY2dHn5sJf9gEaPu3RiKo6tB"
_CUTS = (0.0, 0.1, 0.33, 0.5, 0.77, 0.95)
_SHORTEST_MESSAGE = 4


class _NotConforming(Exception):
    """The importer does not conform; the message describes its behaviour."""


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The subject of the checks: an importer, a file of its format, and a folder for files of the checks."""

    importer: Importer
    file: Path
    folder: Path

    def read(self, path: Path) -> ImportedRun:
        return import_with(self.importer, path, ImportOptions())

    def written(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


def the_file_gives_cases_and_trials(subject: _Subject) -> None:
    run = subject.read(subject.file)
    _expect("at least one case", bool(run.suite.cases), True)
    trials = [trial for trial, _ in run.trials]
    _expect("at least one trial", bool(trials), True)
    _expect("at least one step", any(trial.trajectory.steps for trial in trials), True)
    for trial in trials:
        indexes = [step.index for step in trial.trajectory.steps]
        _expect(f"{trial.case_id}: indexes of the steps", indexes, sorted(set(indexes)))
        calls = {call.id for call in trial.trajectory.calls}
        answered = set(trial.trajectory.observations)
        _expect(f"{trial.case_id}: results of calls that were never made", sorted(answered - calls), [])


def it_is_read_the_same_again(subject: _Subject) -> None:
    _expect("the second reading", _digest(subject.read(subject.file)), _digest(subject.read(subject.file)))


def the_file_is_left_as_it_is(subject: _Subject) -> None:
    before = subject.file.read_bytes()
    list(subject.read(subject.file).trials)
    _expect("the file's content afterwards is unchanged", subject.file.read_bytes() == before, True)


def the_file_is_found_in_a_folder(subject: _Subject) -> None:
    folder = subject.folder / "found"
    folder.mkdir()
    shutil.copy(subject.file, folder / subject.file.name)
    (folder / "unrelated.bin").write_bytes(b"\0")
    found = subject.read(folder)
    _expect("trials of a folder with the file", len(found.trials), len(subject.read(subject.file).trials))


def damaged_files_are_refused_or_read(subject: _Subject) -> None:
    content = subject.file.read_bytes()
    for number, damaged in enumerate(_damaged(content)):
        path = subject.written(f"damaged/{number}/{subject.file.name}", damaged)
        try:
            list(subject.read(path).trials)
        except InvalidDocument as error:
            _expect(f"damaged file {number}: the file that the error names", error.path, path)
        except Exception as error:
            raise _NotConforming(
                f"a damaged file ({len(damaged)} of {len(content)} bytes): expected InvalidDocument or trials, found"
                f" {described(error)}"
            ) from error


def a_credential_is_taken_out(subject: _Subject) -> None:
    text = subject.file.read_text(encoding="utf-8")
    message = next((one for one in _messages(subject.read(subject.file)) if one in text), None)
    if message is None:
        return  # no message occurs verbatim in the file, so that no credential can be planted
    planted = subject.written(
        f"planted/{subject.file.name}", text.replace(message, f"{message} {_CREDENTIAL}").encode()
    )
    _expect("a credential in what was read", _CREDENTIAL in _dump(subject.read(planted)), False)


CHECKS: tuple[Callable[[_Subject], None], ...] = (
    the_file_gives_cases_and_trials,
    it_is_read_the_same_again,
    the_file_is_left_as_it_is,
    the_file_is_found_in_a_folder,
    damaged_files_are_refused_or_read,
    a_credential_is_taken_out,
)


def check_importer(importer: Importer, file: Path) -> dict[str, str | None]:
    """Runs every check with `file`, which contains at least one run; returns check name -> problem, or None."""
    found: dict[str, str | None] = {}
    for check in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(_Subject(importer=importer, file=file, folder=Path(folder)))
            except _NotConforming as problem:
                found[check.__name__] = str(problem)
            except Exception as error:  # noqa: BLE001  # a plug-in's own code
                found[check.__name__] = described(error)
            else:
                found[check.__name__] = None
    return found


def _damaged(content: bytes) -> Iterator[bytes]:
    yield from (content[: int(len(content) * cut)] for cut in _CUTS)
    middle = len(content) // 2
    yield content[:middle] + b"\xff\xfe\x00" + content[middle:]
    yield b"[" * 100_000
    yield b"{}\n"
    yield b"null\n"
    yield b'[1, "a", null]\n'


def _messages(run: ImportedRun) -> list[str]:
    """Every message of the trials that JSON represents verbatim, the longest first."""
    every = {step.message for trial, _ in run.trials for step in trial.trajectory.steps if step.message}
    plain = [one for one in every if len(one) >= _SHORTEST_MESSAGE and json.dumps(one) == f'"{one}"']
    return sorted(plain, key=lambda one: (-len(one), one))


def _digest(run: ImportedRun) -> str:
    return digest_of(
        {
            "suite": run.suite.digest,
            "trials": [[trial.case_id, trial.attempt, trial.trajectory.digest] for trial, _ in run.trials],
        }
    )


def _dump(run: ImportedRun) -> str:
    parts = [run.suite.model_dump_json()]
    for trial, spans in run.trials:
        parts += [trial.model_dump_json(), *(str(span) for span in spans)]
    return "\n".join(parts)


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _NotConforming(f"{what}: expected {wanted!r}, found {found!r}")
