"""JSONPath with expressions that take no longer than the evaluation under way may."""

import re
from typing import cast

import regex
from jsonpath import JSONPathEnvironment
from jsonpath.filter import BaseExpression, RegexLiteral
from jsonpath.function_extensions import Match, Search
from jsonpath.parse import Parser
from jsonpath.stream import TokenStream

from harness.suite.expressions import compiled, limited


class _Match(Match):
    def __call__(self, value: object, pattern: object) -> bool:
        expression = self.check_cache(pattern) if isinstance(value, str) and isinstance(pattern, str) else None
        return expression is not None and limited(lambda left: expression.fullmatch(value, timeout=left)) is not None


class _Search(Search):
    def __call__(self, value: object, pattern: object) -> bool:
        expression = self.check_cache(pattern) if isinstance(value, str) and isinstance(pattern, str) else None
        return expression is not None and limited(lambda left: expression.search(value, timeout=left)) is not None


class _LimitedPattern:
    """What the operator `=~` asks."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern.pattern
        self.flags = pattern.flags
        ascii_only = regex.ASCII if pattern.flags & re.ASCII else 0
        self._expression = compiled(pattern.pattern, pattern.flags & (re.I | re.M | re.S) | ascii_only)

    def fullmatch(self, text: str) -> bool:
        return limited(lambda left: self._expression.fullmatch(text, timeout=left)) is not None


class _Parser(Parser):
    def parse_regex(self, stream: TokenStream) -> BaseExpression:
        literal = super().parse_regex(stream)
        if isinstance(literal, RegexLiteral):
            return RegexLiteral(value=cast(re.Pattern[str], _LimitedPattern(literal.value)))
        return literal


class PathEnvironment(JSONPathEnvironment):
    """Its paths are evaluated inside of `time_limit`."""

    parser_class = _Parser

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions |= {"match": _Match(), "search": _Search()}
