"""The suite's rules for comparing answers, looked up by path."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from harness.case import AnswerRule, Suite
from harness.drift.comparing.paths import ITEM, parts_of


class PathRules:
    """The rules of one tool."""

    def __init__(self, rules: Iterable[AnswerRule]) -> None:
        placed = [(_parts(rule.at), rule) for rule in rules if rule.at is not None]
        self._rules = [(at, rule) for at, rule in placed if rule.compare != "map"]
        self._maps = [at for at, rule in placed if rule.compare == "map"]
        self._known: dict[str, AnswerRule | None] = {}

    def at(self, path: str) -> AnswerRule | None:
        """The rule for the path: its own, or the first one of a path above it."""
        if not self._rules:
            return None
        if path not in self._known:
            parts = parts_of(path)
            self._known[path] = next((rule for at, rule in self._rules if _begins(parts, at)), None)
        return self._known[path]

    def is_map(self, path: str) -> bool:
        """Whether a rule declares the object at the path as a map; the rule does not apply to paths below it."""
        if not self._maps:
            return False
        parts = parts_of(path)
        return any(len(at) == len(parts) and _begins(parts, at) for at in self._maps)


def rules_of(suite: Suite, tool: str, more: Iterable[AnswerRule] = ()) -> PathRules:
    """All rules of the patterns that match the tool, in the suite's order, followed by `more`."""
    matching = [rules for pattern, rules in suite.drift.items() if fnmatchcase(tool, pattern)]
    return PathRules([*(rule for rules in matching for rule in rules), *more])


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _begins(path: Sequence[str], pointer: Sequence[str]) -> bool:
    return len(path) >= len(pointer) and all(
        theirs in (ours, "*") or (ours == ITEM and theirs.isdigit())
        for ours, theirs in zip(path, pointer, strict=False)
    )
