"""JSONPath with expressions that take no longer than the evaluation under way may."""

from jsonpath import JSONPathEnvironment
from jsonpath.function_extensions import Match, Search

from harness.suite.expressions import limited


class _Match(Match):
    def __call__(self, value: object, pattern: object) -> bool:
        expression = self.check_cache(pattern) if isinstance(value, str) and isinstance(pattern, str) else None
        return expression is not None and limited(lambda left: expression.fullmatch(value, timeout=left)) is not None


class _Search(Search):
    def __call__(self, value: object, pattern: object) -> bool:
        expression = self.check_cache(pattern) if isinstance(value, str) and isinstance(pattern, str) else None
        return expression is not None and limited(lambda left: expression.search(value, timeout=left)) is not None


class PathEnvironment(JSONPathEnvironment):
    """Its paths are evaluated inside of `time_limit`."""

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions |= {"match": _Match(), "search": _Search()}
