"""Losses of power and damaged files: what is half is told, what is whole is the same, and all goes on."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, UsageError
from harness.runs.store.folder import RunFolder
from qa.soak.killing.chains import Field, scorecards
from qa.soak.killing.disk import Change, Disk, changes_in
from qa.soak.killing.project import SUITE_NAME

_GOES_ON_EVERY = 8
"""One loss in so many is gone on with by a real command, which takes as long as all the looking."""


def losses_in_a_run(field: Field, tries: int, *, flushes: bool = True) -> Iterator[list[str]]:
    """What was wrong after each loss of power while a run was written; without `flushes`, on a disk that makes none."""
    name = "lost" if flushes else "lost-control"
    run, cards = field.project / "runs" / name, field.as_it_should_be("local", "replay")[1]
    words = ("run", SUITE_NAME, "--sandbox", "local", "--jobs", "1", "--run-name", name)

    def go_on() -> list[str]:
        done = field.commands(*(("run", "--resume", name) if run.exists() else words))
        return [done.said] if done.status or scorecards(run) != cards else []

    with _alone(field):
        attempt = _Attempt(
            words=words,
            part="runs",
            look=lambda seen: _wrong_in_run(run, _committed(seen), cards),
            go_on=go_on if flushes else None,
        )
        yield from _losses(field, attempt, tries)


def losses_in_a_recording(field: Field, tries: int, *, flushes: bool = True) -> Iterator[list[str]]:
    """What was wrong after each loss of power while tapes were written; `flushes` as above."""
    field.put_old_cassettes()
    words = ("record", SUITE_NAME, "--agent", "v1", "--jobs", "1")

    def go_on() -> list[str]:
        done = field.commands(*words)
        if ".journal: " in done.said and done.status:  # one of which only a part is there is named: no loss of a tape
            return []
        return [done.said] if done.status or field.tapes() != field.new_cassettes else []

    with _alone(field):
        attempt = _Attempt(
            words=words,
            part="cassettes",
            look=lambda _: _half_cassettes(field),
            go_on=go_on if flushes else None,
        )
        yield from _losses(field, attempt, tries)


def damages(field: Field, tries: int) -> Iterator[list[str]]:
    """What was wrong after a file of a run that had been finished was cut off anywhere, or a byte of it changed."""
    words = ("run", SUITE_NAME, "--sandbox", "local", "--jobs", "1", "--run-name", "damaged")
    run = field.project / "runs" / "damaged"
    field.commands.ok(*words)
    whole, cards = field.folder / "whole", scorecards(run)
    run.rename(whole)
    last = max(whole.glob("trials/*/1"))
    files = [path for path in (*last.iterdir(), whole / "manifest.json", *whole.glob("scores/*/*")) if path.is_file()]
    for _ in range(tries):
        shutil.copytree(whole, run)
        victim = field.random.choice(files)
        _damage(run / victim.relative_to(whole), field)
        done = field.commands("run", "--resume", "damaged")
        named = str(run / victim.relative_to(whole).parent) in done.said
        right = scorecards(run) == cards if done.status == 0 else named
        yield [] if right else [f"{victim.name}: {done.said}"]
        shutil.rmtree(run)


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """A command that is to lose the power, and how to tell what came of it."""

    words: tuple[str, ...]
    part: str
    """The folder of the project that it writes."""
    look: Callable[[list[Change]], list[str]]
    """What is wrong after these changes."""
    go_on: Callable[[], list[str]] | None
    """None: the disk makes no flushes, and nothing can be gone on with."""


def _losses(field: Field, attempt: _Attempt, tries: int) -> Iterator[list[str]]:
    written, log = field.project / attempt.part, field.folder / "changes"
    before, after = field.folder / "before", field.folder / "after"
    shutil.copytree(written, before / attempt.part)
    assert field.commands(*attempt.words, changes=log).status == 0
    after.mkdir()
    shutil.copytree(written, after / attempt.part)
    changes = list(changes_in(log))
    moments = sorted(field.random.randrange(len(changes)) for _ in range(tries))
    disk, done = Disk(before), 0
    try:
        for number, moment in enumerate(moments):
            for change in changes[done : moment + 1]:
                if attempt.go_on is not None or change.kind != "flush":
                    disk.apply(change, after)
            done = moment + 1
            left = field.folder / "left"
            disk.lose_power(left, field.random)
            _replace(written, left / attempt.part)
            left.rmdir()
            wrong = attempt.look(changes[:done])
            if attempt.go_on is not None and number % _GOES_ON_EVERY == 0:
                wrong += attempt.go_on()
            yield [f"after change {moment} of {len(changes)}: {one}" for one in wrong]
    finally:
        _replace(written, after / attempt.part)
        for folder in (before, after):
            shutil.rmtree(folder)
        log.unlink()


def _replace(folder: Path, by: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if by.exists():
        by.rename(folder)


def _committed(seen: list[Change]) -> set[str]:
    """The cases whose trial was put in its place and flushed."""
    done, named = set(), set()
    for change in seen:
        if change.kind == "rename" and change.to is not None and change.to.parent.parent.name == "trials":
            named.add(change.to.parent)
        elif change.kind == "flush" and change.path in named:
            done.add(change.path.name)
    return done


def _wrong_in_run(run: Path, committed: set[str], cards: dict[str, bytes]) -> list[str]:
    try:
        folder = RunFolder.open(run)
        folder.verify()
    except UsageError as error:
        return [str(error)] if committed or run.exists() else []  # the run had not begun
    except HarnessError as error:
        return [str(error)]
    wrong = [f"trial {case} is lost" for case in committed - {case for case, _ in folder.finished()}]
    return wrong + [f"{path} is another" for path, card in scorecards(run).items() if cards[path] != card]


def _half_cassettes(field: Field) -> list[str]:
    found = field.tapes()
    return [
        f"tape {name} is neither the old one nor the new one"
        for name in field.new_cassettes
        if found.get(name) not in (field.old_cassettes[name], field.new_cassettes[name])
    ]


def _damage(victim: Path, field: Field) -> None:
    content = bytearray(victim.read_bytes())
    at = field.random.randrange(len(content))
    if field.random.random() < 0.5:
        del content[at:]
    else:
        content[at] ^= 1 << field.random.randrange(8)
    victim.write_bytes(content)


@contextmanager
def _alone(field: Field) -> Iterator[None]:
    """Other runs lie elsewhere meanwhile: every loss of power leaves a copy of all that there is."""
    runs, elsewhere = field.project / "runs", field.folder / "elsewhere"
    runs.rename(elsewhere)
    runs.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(runs)
        elsewhere.rename(runs)
