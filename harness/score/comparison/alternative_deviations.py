"""Other changes at a wrong write: where a trial's calls could be paired with the right ones in another way."""

from collections.abc import Iterator, Sequence

from harness.case import FedCall, Invocation, ToolSpec
from harness.score.comparison.alignment import Deviation, call_key, changed_call, invocations, is_write


def alternative_deviations(
    made: Sequence[FedCall], found: Sequence[Deviation], right: Sequence[Invocation], tools: Sequence[ToolSpec]
) -> Iterator[Deviation]:
    """For each write that differs: that it was needless, and that the next right write belongs in its place, or before
    it. The next one is the first in the given order that no call before it made; where the write itself is that one,
    neither is tried.
    """
    specs = {tool.name: tool for tool in tools}
    calls = invocations(made)
    writes = [one for one in right if is_write(one, specs)]
    for one in found:
        here = one.found
        if here is None or one.kind == "wrong_order" or not is_write(here, specs):
            continue
        if one.expected is not None:
            yield Deviation(kind="needless_write", at=one.at, found=here)
        before = [call_key(call, specs) for call in calls[: one.at]]
        following = _first_unmade(writes, before, specs)
        if following is None or call_key(following, specs) == call_key(here, specs):
            continue
        if following != one.expected:
            yield changed_call(one.at, here, following)
        yield Deviation(kind="missing_call", at=one.at, expected=following)


def _first_unmade(writes: Sequence[Invocation], before: list[str], specs: dict[str, ToolSpec]) -> Invocation | None:
    left = list(before)
    for one in writes:
        key = call_key(one, specs)
        if key not in left:
            return one
        left.remove(key)
    return None
