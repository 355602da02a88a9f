"""Response headers of two answers, compared where a rule of the suite names them."""

from collections.abc import Iterator, Mapping

from harness.case import AnswerRule
from harness.drift.change import Change, shortened
from harness.drift.comparing.paths import member
from harness.results import ChangeClass
from harness.validation import fits

HEADERS = "headers"
"""The prefix of their paths."""
_ABSENT = "absent"


def header_changes(old: Mapping[str, str], new: Mapping[str, str], rules: Mapping[str, AnswerRule]) -> Iterator[Change]:
    """Compares headers; `rules` maps a header to its rule. Names are in lower case. A header that neither answer has is
    no change.
    """
    for name, rule in sorted(rules.items()):
        before, after = old.get(name), new.get(name)
        if rule.compare == "ignore" or (before is None and after is None):
            continue
        if after is None:
            yield _change("header.removed", name, before, after)
        elif before is None:
            yield _change("header.added", name, before, after)
        elif not _agree(before, after, rule):
            yield _change("header.changed", name, before, after)


def _agree(before: str, after: str, rule: AnswerRule) -> bool:
    if rule.compare == "type":
        return True
    if rule.pattern is not None:
        return fits(rule.pattern, after, field=f"drift: the rule of header {rule.header!r}: pattern")
    if rule.tolerance is not None:
        try:
            return abs(float(before) - float(after)) <= rule.tolerance
        except ValueError:
            return before == after
    return before == after


def _change(change: ChangeClass, name: str, before: str | None, after: str | None) -> Change:
    return Change(
        change=change,
        path=member(HEADERS, name),
        old_kind=_ABSENT if before is None else "header",
        new_kind=_ABSENT if after is None else "header",
        before=None if before is None else shortened(before),
        after=None if after is None else shortened(after),
    )
