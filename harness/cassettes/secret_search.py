"""Finds known secrets in bytes, in every encoded form.

One regular expression finds the possible first characters of a form; from there the form is matched token by token. The
expression therefore stays small however long the secrets are.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

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

    def at(self, text: bytes, at: int) -> FormMatch | None:
        """The first form in order that matches at `at`."""
        found: FormMatch | None = None
        lowest: float = math.inf
        waiting = [(self, at)]
        while waiting:
            tree, start = waiting.pop()
            end = None if tree.order >= lowest else _followed(tree.shared, text, start)
            if end is None:
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


def _followed(tokens: Form, text: bytes, at: int) -> int | None:
    """The end of the tokens that begin at `at`."""
    for token in tokens:
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
_WINDOW: Final = 64 * 1024
_MOST_REPEATED: Final = 96
"""The number of bytes that an expression examines at most in place of one piece of a token."""


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
        self.widest = len(MARK) + _LONGEST_NAME
        """Bytes of the longest form of a secret, and of a pseudonym."""
        self._widest_anchor = 0
        branches: dict[int, dict[bytes, None]] = {MARK[0]: {MARK[1:]: None}}
        by_length = sorted(secrets.items(), key=lambda item: len(item[1]), reverse=True)
        forms = ((name, form) for name, value in by_length for form in forms_of(value))
        for order, (name, form) in enumerate(forms):
            self.widest = max(self.widest, sum(token.width for token in form))
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

    def found(self, text: bytes) -> Iterator[SecretMatch]:
        """The secrets in the text, from left to right. Existing pseudonyms are skipped."""
        at = 0
        while (found := self.next(text, at)) is not None:
            yield found
            at = found.end

    def next(self, text: bytes, at: int = 0) -> SecretMatch | None:
        """The first secret that begins at `at` or later."""
        for start in self._anchors_in(text, at, len(text)):
            found = self._match_at(text, start)
            if found is not None:
                return found
        return None

    def begun(self, text: bytes, until: int) -> tuple[list[SecretMatch], int]:
        """The secrets that begin before `until`, and the place from which on one may have begun that the text after
        this one goes on with.
        """
        matches, at, first = list[SecretMatch](), 0, until
        while (start := next(self._anchors_in(text, at, until), until)) < until:
            match = self._match_at(text, start)
            if match is not None:
                matches.append(match)
            at, first = (start + 1, min(first, start)) if match is None else (match.end, until)
        ended = min(matches[-1].end if matches else 0, until)
        return matches, max(ended, until - self.widest, min(first, until - self._widest_anchor))

    def _match_at(self, text: bytes, start: int) -> SecretMatch | None:
        tree = self._ways.get(text[start])
        match = tree.at(text, start) if tree is not None and tree.may_be_at(text, start) else None
        return None if match is None else SecretMatch(start, match.end, match.name)

    def _anchors_in(self, text: bytes, at: int, until: int) -> Iterator[int]:
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
