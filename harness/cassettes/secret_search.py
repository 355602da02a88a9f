"""Finds known secrets in bytes, in every encoded form.

One regular expression finds the possible first characters of a form; from there the form is matched token by token. The
expression therefore stays small however long the secrets are, and a text that ends in the middle of a form can be
distinguished from one without any.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from harness.cassettes.secret_forms import BACKSLASHES, Form, Spelling, Token, forms_of

# However many keys have one beginning (`sk-proj-`), a text that repeats it is searched as fast as for one of them.


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

    __slots__ = ("_first", "branches", "ends", "order", "shared")

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
        self._first: re.Pattern[bytes] | None = None

    def may_be_at(self, text: bytes, at: int) -> bool:
        """Whether a form may be there. Its first characters are tried at once: the time of one token after the other
        would tell an agent that sends many guesses how many characters of each are right.
        """
        if self._first is None:
            self._first = re.compile(self._beginning(_FILTERED))
        return self._first.match(text, at) is not None

    def _beginning(self, most: int) -> bytes:
        tokens = b"".join(b"(?>" + token.whole.pattern + b")" for token in self.shared[:most])
        left = most - len(self.shared)
        if left <= 0 or self.ends is not None:
            return tokens
        return tokens + _any_of(branch._beginning(left) for branch in self.branches)

    def at(self, text: bytes, at: int, *, ends: bool) -> FormMatch | Literal["open"] | None:
        """The first form in order that matches at `at`, or that more text could complete (`open`, if the text does
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


_FILTERED: Final = 24
"""Of a form, how many characters one expression tries."""
FIELD_PSEUDONYM: Final = r"[a-z]+:[0-9a-f]{8}"
_ANCHORED: Final = 4
"""The number of characters of a form that the expression examines; no secret is shorter."""
MARK: Final = b"<secret:"
_LONGEST_NAME: Final = 200
_OPEN_MARK: Final = re.compile(rb"<(?:s(?:e(?:c(?:r(?:e(?:t(?::[A-Za-z0-9_:]{0,200})?)?)?)?)?)?)?\Z")


_GLANCE: Final = 3
_WINDOW: Final = 64 * 1024
_MOST_REPEATED: Final = 96
"""The number of bytes that an expression examines at most in place of one piece of a token."""
_MOST_REMEMBERED: Final = 65_536


class SecretMatch(NamedTuple):
    """The position of a secret."""

    start: int
    end: int
    name: str


class SecretSearch:
    """Searches for a set of secrets; of two that begin at one position, the longer is found."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets`: names and values; none is empty."""
        known = "|".join(sorted(map(re.escape, secrets)))
        self._kept = re.compile(f"<secret:(?:{known}|{FIELD_PSEUDONYM})>".encode())
        ways: dict[tuple[int, int], OrderedForm] = {}
        self._widest = len(MARK) + _LONGEST_NAME
        self._widest_anchor = 0
        self._may_begin_with: dict[bytes, bool] = {}
        branches: dict[int, dict[bytes, None]] = {MARK[0]: {MARK[1:]: None}}
        by_length = sorted(secrets.items(), key=lambda item: len(item[1]), reverse=True)
        forms = ((name, form) for name, value in by_length for form in forms_of(value))
        for order, (name, form) in enumerate(forms):
            self._widest = max(self._widest, sum(token.width for token in form[:_ANCHORED]))
            self._widest_anchor = max(self._widest_anchor, _widest_anchor(form))
            for first, anchor in _anchors(form):
                branches.setdefault(first, {})[anchor] = None
                ways[first, order] = OrderedForm(order, name, form)
        self.separator = _separator("".join(secrets.values()))
        """A byte that is in no text in UTF-8, and in no form of a secret: between texts, it keeps each apart. None:
        there is none.
        """
        self._ways = trees_of((first, form) for (first, _), form in ways.items())
        # Each branch begins with a different byte, so that the engine skips all bytes that begin none.
        self._anchor = re.compile(b"|".join(_byte(first) + _any_of(rests) for first, rests in branches.items()))
        self._first = re.compile(_one_of(branches))

    def found(self, text: bytes, at: int = 0) -> Iterator[SecretMatch]:
        """The secrets in the text from `at` on, from left to right. Existing pseudonyms are skipped."""
        while (found := self.next(text, at)) is not None:
            yield found
            at = found.end

    def next(self, text: bytes, at: int = 0) -> SecretMatch | None:
        """The first secret that begins at `at` or later."""
        for start in self._anchors_in(text, at):
            found = self._match_at(text, start, ends=True)
            if isinstance(found, SecretMatch):
                return found
        return None

    def next_or_open(self, text: bytes, at: int) -> SecretMatch | int:
        """The first secret, or the position at which an incomplete one may start; the text's length if there is
        neither.
        """
        tail = max(at, len(text) - self._widest)
        for start in self._anchors_in(text, at):
            if start >= tail:
                break
            found = self._found_or_open(text, start)
            if found is not None:
                return found
        for first in self._first.finditer(text, tail):
            start = first.start()
            if self._may_begin(text[start : start + _GLANCE]):
                found = self._found_or_open(text, start)
                if found is not None:
                    return found
        return len(text)

    def _anchors_in(self, text: bytes, at: int) -> Iterator[int]:
        until = len(text)
        while at < until:
            # A window at a time: one search holds the interpreter, so that no other thread runs before its end.
            end = min(at + _WINDOW, until)
            anchor = self._anchor.search(text, at, end + self._widest_anchor)
            start = end if anchor is None else anchor.start()
            if start >= end:
                at = end
                continue
            kept = self._kept.match(text, start)
            at = start + 1 if kept is None else kept.end()
            if kept is None:
                yield start

    def _may_begin(self, beginning: bytes) -> bool:
        """Whether a form may begin with these few bytes; cached, because texts repeat the same few."""
        known = self._may_begin_with.get(beginning)
        if known is None:
            known = bool(_OPEN_MARK.match(beginning)) or self._match_at(beginning, 0, ends=False) is not None
            if len(self._may_begin_with) < _MOST_REMEMBERED:
                self._may_begin_with[beginning] = known
        return known

    def _found_or_open(self, text: bytes, start: int) -> SecretMatch | int | None:
        if _OPEN_MARK.match(text, start):
            return start
        found = self._match_at(text, start, ends=False)
        return start if found == "open" else found

    def _match_at(self, text: bytes, start: int, *, ends: bool) -> SecretMatch | Literal["open"] | None:
        """The secret that begins there; `open`: more text could complete a secret, unless the text `ends` here."""
        found = self._ways.get(text[start])
        if found is None or (ends and not found.may_be_at(text, start)):
            return None
        match = found.at(text, start, ends=ends)
        return SecretMatch(start, match.end, match.name) if isinstance(match, FormMatch) else match


@lru_cache(maxsize=64)
def search_for(secrets: tuple[tuple[str, str], ...]) -> SecretSearch:
    """The search for these names and values: the same for every trial of a run."""
    return SecretSearch(dict(secrets))


def _separator(values: str) -> bytes | None:
    raw = {ord(char) & 0xFF for char in values}  # bytes that are not UTF-8 among them
    return next((bytes([byte]) for byte in range(0xF8, 0x100) if byte not in raw), None)


def _anchors(form: Form) -> Iterable[tuple[int, bytes]]:
    """What a form begins with: its first byte, and an expression for the next tokens."""
    rests: dict[int, list[bytes]] = {}
    for spelling in form[0].spellings:
        for first, piece in _first_bytes(spelling):
            rests.setdefault(first, []).append(piece + b"".join(spelling[1:]))
    following = _following(form[1:_ANCHORED])
    for first, pieces in rests.items():
        yield first, _any_of(pieces) + following


def _widest_anchor(form: Form) -> int:
    """No anchor of the form examines more bytes."""
    return sum(max(token.width, _MOST_REPEATED) + _MOST_REPEATED for token in form[:_ANCHORED])


def _following(tokens: Form) -> bytes:
    """The next tokens, each as one byte; of a longer spelling two pieces are examined, and nothing after them."""
    if not tokens:
        return b""
    plain = {first for spelling in tokens[0].spellings if len(spelling) == 1 for first, _ in _first_bytes(spelling)}
    longer = dict.fromkeys(b"".join(spelling[:2]) for spelling in tokens[0].spellings if len(spelling) > 1)
    return _any_of([*([_one_of(plain) + _following(tokens[1:])] if plain else []), *longer])


def _first_bytes(spelling: Spelling) -> Iterable[tuple[int, bytes]]:
    """Each byte that the spelling may begin with, and the rest of the piece after that byte."""
    piece = spelling[0]
    if piece == BACKSLASHES:
        yield ord("\\"), rb"\\{0,15}"
    elif piece.startswith(b"["):
        yield from ((byte, b"") for byte in piece[1:-1])
    else:
        yield piece[-1], b""


def _any_of(expressions: Iterable[bytes]) -> bytes:
    return b"(?:" + b"|".join(expressions) + b")"


def _one_of(members: Iterable[int]) -> bytes:
    return b"[" + b"".join(map(_byte, sorted(members))) + b"]"


def _byte(byte: int) -> bytes:
    return re.escape(bytes([byte]))


def encoded(text: str) -> tuple[bytes, str]:
    """The text's bytes, with invalid UTF-8 kept as it was, and how the errors were handled."""
    try:
        return text.encode("utf-8", "surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
