"""Which sessions are scored: declared rules, and a hash of the session instead of chance.

A session's number between 0 and 1 is a hash of its key and the seed. It is chosen where that number is below the
highest rate of the rules that it meets, so that rate is the probability of its inclusion, whatever rules overlap, and
1 / rate is its weight in an estimate for the whole population (Horvitz and Thompson 1952).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from harness.online.scores.scores import SessionSampling
from harness.online.session import SessionRow
from harness.online.settings import OnlineSettings, SamplingRule

_DAY_NS: Final = 86_400 * 10**9


class Sampler:
    """Decides by the settings, and by what the store knows of releases and durations when it is made."""

    def __init__(self, settings: OnlineSettings, rows: Sequence[SessionRow]) -> None:
        """`rows`: every session of the store, for `new_release` and `slow`."""
        self._settings = settings
        self._released_ns = _first_received(rows)
        self._durations = sorted(row.duration_s for row in rows)

    def decide(
        self, row: SessionRow, scores: Literal["rules", "judge"], *, failed: bool = False
    ) -> SessionSampling | None:
        """How a session is chosen; None where it is not. `failed`: what scoring by rules has shown."""
        rules = [rule for rule in self._settings.sampling if rule.scores in ("both", scores)]
        met = [rule for rule in rules if self._meets(rule, row, failed)]
        if not met:
            return None
        best = max(met, key=lambda rule: rule.rate)
        number = place_of(row.key, self._settings.seed)
        base = max((rule.rate for rule in rules if rule.when == "always"), default=0.0)
        if number >= best.rate:
            return None
        return SessionSampling(rule=best.name, rate=best.rate, in_base=number < base)

    def _meets(self, rule: SamplingRule, row: SessionRow, failed: bool) -> bool:
        match rule.when:
            case "always":
                return True
            case "failed":
                return failed or row.errors > 0
            case "thumbs_down":
                return row.feedback is not None and row.feedback < 0.5
            case "new_release":
                first = self._released_ns.get(row.release)
                return bool(row.release) and first is not None and row.received_first_ns - first < rule.days * _DAY_NS
            case "slow":
                return bool(self._durations) and row.duration_s >= self._quantile(rule.quantile)

    def _quantile(self, share: float) -> float:
        return self._durations[min(len(self._durations) - 1, int(share * len(self._durations)))]


def place_of(key: str, seed: str) -> float:
    """A session's number in [0, 1)."""
    return int(hashlib.sha256(f"{seed}|{key}".encode("utf-8", "replace")).hexdigest()[:13], 16) / 16**13


def _first_received(rows: Sequence[SessionRow]) -> Mapping[str, int]:
    """When each release was first received; the store's oldest release is none that is new."""
    first: dict[str, int] = {}
    for row in rows:
        if row.release:
            first[row.release] = min(row.received_first_ns, first.get(row.release, row.received_first_ns))
    oldest = min(first.values(), default=0)
    return {release: at for release, at in first.items() if at > oldest}
