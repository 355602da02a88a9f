"""Levels of repeated tests: those of all releases, and of all looks at one release, add up to one level."""

LEVEL = 0.05


def level_of(number: int) -> float:
    """Of the `number`-th release after the first; all of them together are `LEVEL`."""
    return LEVEL / (number * (number + 1))


def level_of_look(number: int, look: int) -> float:
    """The level of the `look`-th look at that release, both counted from 1; the levels of all looks sum to
    `level_of(number)`.
    """
    return level_of(number) / (look * (look + 1))
