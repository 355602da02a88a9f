"""kill -9 of the harness at random moments: what was finished stays, the rest is run again, nothing is left behind."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import cycle
from random import Random

from qa.soak.killing.chains import RUN_PHASES, Kill, killing_field
from qa.soak.killing.power import damages, losses_in_a_recording, losses_in_a_run
from qa.soak.rows import Row

PER_PHASE, RECORDINGS, LOSSES, DAMAGES = 34, 50, 400, 60
_CHAIN = 5
_WAYS = (
    ("docker", "replay"),
    ("docker-warm", "replay"),
    ("local", "replay"),
    ("docker", "live"),
    ("local", "live"),
)


def rows(random: Random, scale: float) -> Iterator[Row]:
    """A row a phase, by where the kill really fell, then one for recordings."""
    each = max(1, round(PER_PHASE * scale))
    with killing_field(random) as field:
        builds: list[Kill] = []
        while len(builds) < each:
            builds += field.build_chain(min(_CHAIN, each - len(builds)))
        yield _row("build", builds)
        kills, ways = list[Kill](), cycle(_WAYS)
        while wanted := Counter(dict.fromkeys(RUN_PHASES, each)) - Counter(kill.phase for kill in kills):
            kills += field.run_chain(*next(ways), wanted)
        for phase in RUN_PHASES:
            yield _row(phase, [kill for kill in kills if kill.phase == phase])
        if early := [kill for kill in kills if kill.phase == "start"]:
            yield _row("start", early)
        recordings: list[Kill] = []
        while len(recordings) < max(1, round(RECORDINGS * scale)):
            recordings += field.record_chain(_CHAIN)
        yield _row("recording", recordings)
        losses = max(2, round(LOSSES * scale))
        for what, lose in (("run", losses_in_a_run), ("recording", losses_in_a_recording)):
            control = lose(field, max(40, losses), flushes=False)
            yield _losses(f"the machine loses its power: {what}", lose(field, losses), control)
        yield _losses(
            "a file of a run is cut off, or a bit of it changes", damages(field, max(2, round(DAMAGES * scale)))
        )


def _losses(what: str, tries: Iterable[list[str]], control: Iterable[list[str]] = (["it has none"],)) -> Row:
    """`control`: the same where nothing is ever flushed, which must be seen."""
    found = list(tries)
    wrong = [one for problems in found for one in problems]
    said = "".join(f"\n  {one}" for one in wrong)
    survived = sum(not one for one in found)
    return Row(what=what, tries=len(found), survived=survived, lost=len(wrong), said=said, void=not any(list(control)))


def _row(phase: str, kills: Iterable[Kill]) -> Row:
    kills = list(kills)
    ways = Counter(kill.what for kill in kills)
    problems = [problem for kill in kills for problem in (*kill.lost, *kill.left, *kill.wrong)]
    return Row(
        what=f"kill -9 of the harness: {phase}",
        tries=len(kills),
        survived=sum(not (kill.lost or kill.left or kill.wrong) for kill in kills),
        lost=sum(len(kill.lost) for kill in kills),
        left=sum(len(kill.left) for kill in kills),
        said=", ".join(f"{count} {what}" for what, count in sorted(ways.items()))
        + "".join(f"\n  {problem}" for problem in problems),
    )
