"""Where the next kill is to fall: drawn from what an undisturbed command did."""

from collections import Counter
from random import Random

from qa.soak.killing.commands import Moment, Stay


def moment_in(phase: str, stays: tuple[Stay, ...], random: Random) -> Moment:
    """Half of them after an event drawn from the phase's, half after a time drawn from what the phase takes.

    Mostly in the first half of the command, so that something is left for the next one.
    """
    entered: Counter[str] = Counter()
    found: list[tuple[int, Stay]] = []
    for stay in stays:
        entered[stay.phase] += 1
        if stay.phase == phase:
            found.append((entered[phase], stay))
    early = found[: (len(found) + 1) // 2]
    entry, stay = random.choice(found if random.random() < 0.25 else early)
    if random.random() < 0.5:
        return Moment(phase=phase, entry=entry, events=random.randrange(stay.events + 1), delay_s=0)
    return Moment(phase=phase, entry=entry, events=0, delay_s=random.uniform(0, stay.seconds))
