"""One evaluation: sessions planted in one source, grouped, and held against their causes; then the next day."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.production.failures import SEVERITIES, SessionFailure
from harness.production.grouping import grouped
from qa.themes_eval.measures import adjusted_rand_index, purity
from qa.themes_eval.planting import HOUR_NS, Planted, bases, planted_sessions
from qa.themes_eval.wordings import Wordings

DAY_NS = 24 * HOUR_NS


def evaluated(data: Path, source: str, wordings: Wordings, *, count: int = 1000, seed: int = 1) -> dict[str, Any]:
    """Figures of one source."""
    found = bases(data, source)
    sessions = planted_sessions(found, wordings, count, seed)
    began = time.monotonic()
    groups = grouped("shop", [failure for one in sessions for failure in one.failures])
    seconds = time.monotonic() - began
    theme = _themes_of(groups)
    true = [one.cause for one in sessions]
    ours = [theme[_leading(one)] for one in sessions]
    plain = [_leading(one).criterion for one in sessions]
    return {
        "source": source,
        "real_trajectories": len(found),
        "sessions": count,
        "causes": len(set(true)),
        "themes": len(set(ours)),
        "purity": round(purity(ours, true), 4),
        "adjusted_rand_index": round(adjusted_rand_index(ours, true), 4),
        "purity_by_criterion": round(purity(plain, true), 4),
        "adjusted_rand_index_by_criterion": round(adjusted_rand_index(plain, true), 4),
        "grouping_s": round(seconds, 2),
        **_next_day(sessions, planted_sessions(found, wordings, count // 7, seed + 1, begin_ns=7 * DAY_NS)),
    }


def _next_day(sessions: Sequence[Planted], new: Sequence[Planted]) -> dict[str, Any]:
    """A window of seven days moves by one: a seventh leaves, another comes."""
    first = grouped("shop", [failure for one in sessions for failure in one.failures])
    kept = [one for one in sessions if one.failures[0].received_ns >= DAY_NS]
    window = [failure for one in (*kept, *new) for failure in one.failures]
    with_book = grouped("shop", window, [group.text for group in first])
    without = grouped("shop", window)
    before = _themes_of(first)
    return {
        "next_day_same": len(kept),
        "same_ids": round(_share_same(kept, before, _themes_of(with_book)), 4),
        "same_ids_without_the_book": round(_share_same(kept, before, _themes_of(without)), 4),
    }


def _share_same(kept: Sequence[Planted], before: dict[SessionFailure, str], after: dict[SessionFailure, str]) -> float:
    return sum(before[_leading(one)] == after[_leading(one)] for one in kept) / len(kept)


def _themes_of(groups: Sequence[Any]) -> dict[SessionFailure, str]:
    return {failure: group.text.id for group in groups for failure in group.failures}


def _leading(one: Planted) -> SessionFailure:
    """The gravest failure of a session, of equals the first."""
    return max(one.failures, key=lambda failure: SEVERITIES[failure.weight])


def printed(figures: dict[str, Any]) -> str:
    return json.dumps(figures, indent=1)
