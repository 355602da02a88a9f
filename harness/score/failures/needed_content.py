"""What each kind of finding reads of a trajectory: where spans do not carry it, the kind is not searched for.

Instrumentations leave out content unless they are told to capture it. A loop can be seen in calls and results without a
word of what was said, a tool that does not exist by its name alone.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, get_args

from harness.score.diagnosis import Failure, Kind
from harness.score.words_of_content import content_words
from harness.trace import Content

_ALL: Final[frozenset[Content]] = frozenset(get_args(Content))
_CALLS: Final[frozenset[Content]] = frozenset({"arguments"})
_TRAFFIC: Final[frozenset[Content]] = frozenset({"arguments", "results"})
_WORDS: Final[frozenset[Content]] = frozenset({"answer", "messages"})

KINDS: Final[Mapping[Failure, Mapping[Kind, frozenset[Content]]]] = MappingProxyType(
    {
        "loop_trap": {
            "repeated_call": _TRAFFIC,
            "repeated_cycle": _TRAFFIC,
            "stuck_on_error": _TRAFFIC,
            "barren_calls": _TRAFFIC,
            "echoed_call": _ALL,
        },
        "goal_drift": {
            "foreign_task": _ALL,
            "plan_for_another_task": _WORDS,
            "plan_not_carried_out": _ALL,
            "goal_left_out": _WORDS | _CALLS,
            "objective_switched": _WORDS | _CALLS,
            "answer_off_goal": _WORDS | _CALLS,
        },
        "tool_hallucination": {
            "invented_tool": frozenset(),
            "invented_parameter": _CALLS,
            "made_up_data": _WORDS,
            "claimed_call": _WORDS | _CALLS,
            "fabricated_result": _ALL,
            "unsupported_answer": _ALL,
        },
        "premature_commitment": {
            "guessed_argument": _ALL,
            "unseen_target": _ALL,
            "missing_reads": _TRAFFIC,
            "stopped_early": _CALLS | _WORDS,
            "unwarranted_write": _TRAFFIC,
            "assumed_data": _WORDS,
            "stated_assumption": _WORDS,
            "recalled_figures": _ALL,
            "unchecked_answer": _ALL,
            "claimed_check": _WORDS,
            "ambiguous_match": _ALL,
            "unread_items": _ALL,
        },
        "cascading_error": {
            "miscopied_value": _ALL,
            "invented_value": _ALL,
            "carried_premise": _ALL,
            "unsourced_figures_carried": _ALL,
            "first_result_carried": _WORDS,
            "failed_code_carried": _WORDS,
            "first_answer_carried": _WORDS,
            "worker_result_carried": _WORDS,
            "hidden_error_carried": _ALL,
            "injected_answer_carried": _ALL,
            "contradicted_answer_carried": _ALL,
            "contradicted_user_carried": _ALL,
        },
        "wrong_outcome": {
            "wrong_target": _CALLS,
            "wrong_argument": _CALLS,
            "wrong_encoding": _CALLS,
            "missing_write": _CALLS,
            "needless_write": _CALLS,
            "wrong_order": _CALLS,
            "wrong_words": _WORDS,
            "left_to_the_user": _CALLS | _WORDS,
            "refused": _CALLS | _WORDS,
            "first_change": _CALLS,
        },
        "other": {
            "wrong_tool": _CALLS,
            "missing_call": _CALLS,
            "wrong_answer": _CALLS,
            "failed_without_a_known_mode": _ALL,
            "judged": frozenset(),
        },
    }
)
"""Mode -> its kinds -> the content that they read. A judge's findings name what was judged, of any mode."""
_READS: Final[Mapping[str, frozenset[Content]]] = MappingProxyType(
    {str(kind): read for kinds in KINDS.values() for kind, read in kinds.items()}
)


def can_be_told(kind: str, uncaptured: Collection[Content]) -> bool:
    """Whether what a kind reads was captured; one of a suite's own detectors reads everything."""
    return not uncaptured or _READS.get(kind, _ALL).isdisjoint(uncaptured)


def not_searched_for(uncaptured: Collection[Content]) -> dict[Failure, str]:
    """Mode -> which of its kinds are still searched for, if any, and what the spans lack; empty where nothing lacks."""
    found: dict[Failure, str] = {}
    for mode, kinds in KINDS.items():
        lost = [read for read in kinds.values() if not read.isdisjoint(uncaptured)]
        if not lost:
            continue
        lacking = [one for one in uncaptured if any(one in read for read in lost)]
        left = [kind.replace("_", " ") for kind, read in kinds.items() if read.isdisjoint(uncaptured)]
        known = f"only these are searched for: {', '.join(left)}; " if left and mode != "other" else ""
        found[mode] = f"{known}the spans do not carry {content_words(lacking)}"
    return found
