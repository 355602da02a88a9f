"""Losses of power and damaged files: what is half is told, what is whole is the same, and all goes on."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.errors import HarnessError, UsageError
from harness.results import RunFolder
from tests.soak.killing.chains import Field, scorecards
from tests.soak.killing.disk import Change, Disk, changes_in
from tests.soak.killing.project import SUITE_NAME

_GOES_ON_EVERY = 8
"""One loss in so many is gone on with by a real command, which takes as long as all the looking."""


def losses_in_a_run(field: Field, tries: int, *, flushes: bool = True) -> Iterator[list[str]]:
    """What was wrong after each loss of power while a run was written; without `flushes` on a disk that makes none."""
    name = "lost" if flushes else "lost-control"
    words = ("run", SUITE_NAME, "--sandbox", "local", "--jobs", "1", "--run-name", name)

    def look(seen: list[Change]) -> list[str]:
        return _wrong_in_run(field.project / "runs" / name, _committed(seen), cards)

    def go_on() -> list[str]:
        exists = (field.project / "runs" / name).exists()
        done = field.commands(*(("run", "--resume", name) if exists else words))
        if done.status:
            return [done.said]
        return [] if scorecards(field.project / "runs" / name) == cards else ["the scorecards are others"]

    before = _copied(field)
    log = field.folder / "changes-of-a-run"
    assert field.commands(*words, changes=log).status == 0
    cards = scorecards(field.project / "runs" / name)
    yield from _losses(field, before, log, tries, look, go_on if flushes else None)


def losses_in_a_recording(field: Field, tries: int, *, flushes: bool = True) -> Iterator[list[str]]:
    """What was wrong after each loss of power while tapes were written; `flushes` as above."""
    tapes = field.project / "cassettes" / SUITE_NAME
    words = ("record", SUITE_NAME, "--agent", "v1", "--jobs", "1")
    for name, content in field.old_tapes.items():
        (tapes / name).write_bytes(content)

    def look(seen: list[Change]) -> list[str]:
        del seen
        found = field.tapes()
        return [
            f"tape {name} is neither the old one nor the new one"
            for name in field.new_tapes
            if found.get(name) not in (field.old_tapes[name], field.new_tapes[name])
        ]

    def go_on() -> list[str]:
        done = field.commands(*words)
        if done.status:  # a journal of which only a part is there is named, and is no loss of a tape
            return [] if ".journal: " in done.said else [done.said]
        return [] if field.tapes() == field.new_tapes else ["the tapes are others"]

    before = _copied(field)
    log = field.folder / "changes-of-a-recording"
    assert field.commands(*words, changes=log).status == 0
    yield from _losses(field, before, log, tries, look, go_on if flushes else None)


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


def _losses(
    field: Field,
    before: Path,
    log: Path,
    tries: int,
    look: Callable[[list[Change]], list[str]],
    go_on: Callable[[], list[str]] | None,
) -> Iterator[list[str]]:
    after = field.folder / "after"
    _moved(field, after)
    changes = list(changes_in(log))
    moments = sorted(field.random.randrange(len(changes)) for _ in range(tries))
    disk, done = Disk(before), 0
    for number, moment in enumerate(moments):
        for change in changes[done : moment + 1]:
            if go_on is not None or change.kind != "flush":
                disk.apply(change, after)
        done = moment + 1
        disk.lose_power(field.folder / "left", field.random)
        _moved_in(field, field.folder / "left")
        wrong = look(changes[:done])
        if go_on is not None and number % _GOES_ON_EVERY == 0:
            wrong += go_on()
        yield [f"after change {moment} of {len(changes)}: {one}" for one in wrong]
    _moved_in(field, after)
    for left in (before, log):
        shutil.rmtree(left) if left.is_dir() else left.unlink()


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
        folder.run_scores()
    except UsageError as error:
        return [str(error)] if committed or run.exists() else []  # the run had not begun
    except HarnessError as error:
        return [str(error)]
    wrong = [f"trial {case} is lost" for case in committed - {case for case, _ in folder.finished()}]
    return wrong + [f"{path} is another" for path, card in scorecards(run).items() if cards[path] != card]


def _damage(victim: Path, field: Field) -> None:
    content = bytearray(victim.read_bytes())
    at = field.random.randrange(len(content))
    if field.random.random() < 0.5:
        del content[at:]
    else:
        content[at] ^= 1 << field.random.randrange(8)
    victim.write_bytes(content)


_PARTS = ("runs", "cassettes")


def _copied(field: Field) -> Path:
    before = field.folder / "before"
    for part in _PARTS:
        shutil.copytree(field.project / part, before / part)
    return before


def _moved(field: Field, to: Path) -> None:
    to.mkdir()
    for part in _PARTS:
        (field.project / part).rename(to / part)


def _moved_in(field: Field, state: Path) -> None:
    """Puts a state of runs and tapes in the place of the present one."""
    for part in _PARTS:
        shutil.rmtree(field.project / part, ignore_errors=True)
        if (state / part).exists():
            (state / part).rename(field.project / part)
    shutil.rmtree(state)
