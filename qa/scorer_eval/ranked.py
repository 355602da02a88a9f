"""The order of the modes that `harness explain` names, beside what people said of the run; no probability is stated."""

from collections import Counter
from collections.abc import Mapping, Sequence

from layout import share, table
from sources import MODES, Labelled

from harness.scoring.failures.ranking import Fitted, ranked_modes

Runs = Mapping[str, Sequence[Labelled]]


def mode_order(runs: Runs, all_: Fitted, without: Mapping[str, Fitted]) -> None:
    """How often the first named mode is one that people gave the run, with numbers counted with and without the set;
    and the mode that people give most often in the other sets, as a constant.
    """
    rows = []
    for name, some in runs.items():
        # of a set that labels one mode alone every order is the same
        own = [one for one in some if sum(mode in one.modes for mode in MODES) > 1 and any(one.modes.values())]
        if not own:
            continue
        others = Counter(
            mode
            for other, their in runs.items()
            if other != name
            for one in their
            for mode in MODES
            if one.modes.get(mode)
        )
        constant = max(MODES, key=lambda mode: others[mode])
        told = [(one, _first(one, all_), _first(one, without[name])) for one in own]
        rows.append(
            [
                name,
                len(own),
                sum(left_out is None for _, _, left_out in told),
                _right([(one, inside) for one, inside, _ in told]),
                _right([(one, left_out) for one, _, left_out in told]),
                _right([(one, constant) for one, _, left_out in told if left_out is not None]),
                constant,
            ]
        )
    head = ["set", "runs with a mode", "nothing named", "right, in sample", "right, without the set", "a constant", ""]
    table("The mode that is named first", head, rows)


def weight_of(mode: str, run: Labelled, numbers: Fitted) -> float:
    """The weight that `harness explain --json` prints for the mode; 0 where it is not listed."""
    return next((one.weight for one in ranked_modes(run.everything, numbers) if one.failure == mode), 0.0)


def _first(run: Labelled, numbers: Fitted) -> str | None:
    return next((one.failure for one in ranked_modes(run.everything, numbers)), None)


def _right(named: Sequence[tuple[Labelled, str | None]]) -> str:
    some = [(one, mode) for one, mode in named if mode is not None]
    return share(sum(bool(one.modes.get(mode)) for one, mode in some), len(some))
