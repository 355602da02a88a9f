"""Whether the calls leave the world as the reference leaves it: all the writes that were needed, and no other."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from harness.case import ReferenceCall, ToolSpec
from harness.score.comparison.arguments import call_key
from harness.score.comparison.comparing import same_effect
from harness.score.comparison.matching import match_calls
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.handing_over import is_hand_over
from harness.score.failures.signals.reading import read
from harness.score.imported_criteria import judged_by_state


class EffectMatch:
    """1 where the writes that the agent made are those of the reference, in the order of its DAG; else 0.

    A write is a call of a tool that is declared as one and that was not answered with an error: a rejected call changed
    nothing. A hand-over to a person (by its tool's name) is not a write: require it by `required_tools`. Reads are
    neutral on both sides, however many: which way was taken is for `call_match`. One write too many spoils it, and so
    does the right one made twice, except directly after itself where the tool's listing says `idempotentHint`. Equal:
    same tool and same arguments by the schema (defaults filled in, 1 = 1.0, unordered arrays as bags, volatile
    arguments left out), or what surely comes to the same (see `comparing.same_effect`): identifiers in another order,
    parallel lists in another order, undeclared members of nested objects. A reference without writes asks that nothing
    be changed.

    None without a reference; where a tool of the reference, or of a call that was not refused, is not declared, because
    its effect is unknown; where the benchmark that the case was imported from judges by other things than the state
    that the reference leaves; and where the order was too wide to be searched to the end. Not seen: whether the
    reference's own writes would have worked, and other writes that come to the same.
    """

    name: ClassVar[str] = "effect_match"
    version: ClassVar[str] = "3"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        reference = evidence.case.reference
        if reference is None:
            return None, "the case has no reference"
        if not judged_by_state(evidence.case.expected):
            return None, "the benchmark judges by other things than what the reference leaves: it is one way of several"
        tools = {tool.name: tool for tool in evidence.tools}
        done = [act for act in read(evidence).acts if not act.failed]
        unknown = {call.tool for call in reference} | {act.call.name for act in done}
        unknown -= tools.keys()
        if unknown:
            return None, f"nobody declares whether {', '.join(sorted(unknown))} writes"
        wanted = list(_writes_of(reference, tools))
        keys = [call_key(tools[call.tool], call.tool, call.arguments) for call in wanted]
        made = _settled([act for act in done if _changes(act.tool)], Counter(keys))
        return _compared(wanted, keys, _as_wanted(wanted, keys, made))


def _as_wanted(wanted: Sequence[ReferenceCall], keys: Sequence[str], made: Sequence[Act]) -> list[str]:
    """The keys of the writes, where a write with the same effect as one of the reference gets the reference's key."""
    own = [act.key for act in made]
    missing, extra = Counter(keys) - Counter(own), Counter(own) - Counter(keys)
    for call, key in zip(wanted, keys, strict=True):
        for place, act in enumerate(made if missing[key] else ()):
            if extra[own[place]] and act.call.name == call.tool and _does(call, act):
                extra[own[place]] -= 1
                missing[key] -= 1
                own[place] = key
                break
    return own


def _does(call: ReferenceCall, act: Act) -> bool:
    return act.tool is not None and same_effect(call.arguments, act.call.arguments or {}, act.tool.parameters)


def _compared(wanted: Sequence[ReferenceCall], keys: Sequence[str], made: Sequence[str]) -> tuple[float | None, str]:
    missing, extra = Counter(keys) - Counter(made), Counter(made) - Counter(keys)
    if missing or extra:
        parts = ((missing, "missing"), (extra, "not the reference's"))
        sides = [f"{words}: {', '.join(map(_short, sorted(some.elements())))}" for some, words in parts if some]
        return 0.0, "; ".join(sides)
    found = match_calls(wanted, keys, made)
    if len(found.pairs) == len(wanted):
        return 1.0, f"the {len(wanted)} writes of the reference and no other" if wanted else "nothing was changed"
    if not found.exact:
        return None, "the right writes; whether in an order that the reference allows was too wide to be searched"
    return 0.0, "the right writes in an order that the reference does not allow"


def _writes_of(reference: Sequence[ReferenceCall], tools: dict[str, ToolSpec]) -> Iterator[ReferenceCall]:
    """The writes alone, each after the writes that it had to come after, be it by way of reads."""
    behind: dict[str, frozenset[str]] = {}
    for call in reference:
        before = frozenset[str]().union(*(behind[name] for name in call.after))
        is_write = _changes(tools[call.tool])
        behind[call.id] = frozenset({call.id}) if is_write else before
        if is_write:
            yield call.model_copy(update={"after": tuple(sorted(before))})


def _settled(writes: Sequence[Act], wanted: Counter[str]) -> list[Act]:
    """The writes without idempotent ones made again at once, past what the reference makes of them."""
    kept: list[Act] = []
    made: Counter[str] = Counter()
    for act in writes:
        again = bool(kept) and kept[-1].key == act.key and made[act.key] >= wanted[act.key]
        if not (again and act.tool is not None and _is_idempotent(act.tool)):
            kept.append(act)
            made[act.key] += 1
    return kept


def _changes(tool: ToolSpec | None) -> bool:
    return tool is not None and tool.effect == "write" and not is_hand_over(tool.name)


def _is_idempotent(tool: ToolSpec) -> bool:
    annotations = tool.listed.get("annotations")
    return isinstance(annotations, dict) and annotations.get("idempotentHint") is True


def _short(key: str) -> str:
    return key if len(key) <= 120 else key[:119] + "…"
