"""The forms of all secrets that begin with one byte, as a tree: what they have in common is matched once.

However many keys have one beginning (`sk-proj-`), a text that repeats it is searched as fast as for one of them.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from harness.cassette.redaction.secret_forms import Form, Token


class OrderedForm(NamedTuple):
    """A form, its place among all (the lower one counts), and the name of its secret."""

    order: int
    name: str
    form: Form


class FormMatch(NamedTuple):
    """The name of the secret, and where it ends."""

    name: str
    end: int


class FormTree:
    """Forms with a common beginning: `shared` is matched first, then each of `branches`, or the `last` form's rest."""

    __slots__ = ("branches", "ends", "order", "shared")

    def __init__(self, forms: Sequence[OrderedForm], depth: int = 0) -> None:
        """`forms`: at least one, all equal in their first `depth` tokens."""
        until = _common(forms, depth)
        self.order = min(one.order for one in forms)
        self.shared = forms[0].form[depth:until]
        self.ends = min((one for one in forms if len(one.form) == until), default=None)
        grouped: dict[Token, list[OrderedForm]] = {}
        for one in forms:
            if len(one.form) > until:
                grouped.setdefault(one.form[until], []).append(one)
        self.branches = tuple(FormTree(group, until) for group in grouped.values())

    def at(self, text: bytes, at: int, *, ends: bool) -> FormMatch | Literal["open"] | None:
        """The first form in order that matches at `at`, or that more text could complete (`open`, where the text does
        not end here).
        """
        found: FormMatch | Literal["open"] | None = None
        lowest: float = math.inf
        waiting = [(self, at)]
        while waiting:
            tree, start = waiting.pop()
            if tree.order >= lowest:
                continue
            end = _followed(tree.shared, text, start, ends=ends)
            if end is None:
                continue
            if end == "open":
                lowest, found = tree.order, "open"
                continue
            if tree.ends is not None and tree.ends.order < lowest:
                lowest, found = tree.ends.order, FormMatch(tree.ends.name, end)
            waiting += [(branch, end) for branch in tree.branches]
        return found


def trees_of(forms: Iterable[tuple[int, OrderedForm]]) -> dict[int, FormTree]:
    """The tree for each first byte; each pair is such a byte and a form that may begin with it."""
    grouped: dict[int, list[OrderedForm]] = {}
    for first, form in forms:
        grouped.setdefault(first, []).append(form)
    return {first: FormTree(group) for first, group in grouped.items()}


def _common(forms: Sequence[OrderedForm], depth: int) -> int:
    shortest = min(len(one.form) for one in forms)
    first = forms[0].form
    while depth < shortest and all(one.form[depth] is first[depth] for one in forms):
        depth += 1
    return depth


def _followed(tokens: Form, text: bytes, at: int, *, ends: bool) -> int | Literal["open"] | None:
    """The end of the tokens that begin at `at`."""
    for token in tokens:
        if not ends and (at == len(text) or token.beginning.match(text, at)):
            return "open"
        found = token.whole.match(text, at)
        if found is None:
            return None
        at = found.end()
    return at
