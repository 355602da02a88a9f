"""Where a check of a suite was written, for errors that are found after its files have been read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.case.case import Case, CheckSpec
from harness.case.conversation.scenario import cases_in
from harness.case.document import Document, open_document
from harness.case.suite import Suite
from harness.errors import InvalidDocument, UsageError

_Place = tuple[Path, int | None]


@dataclass(frozen=True)
class DeclaredCheck:
    """One check of a case, its own or one that it shares with the whole suite."""

    suite: Suite
    case: Case
    check: CheckSpec

    def error(self, problem: str, *field: int | str, remedy: str | None = None) -> UsageError:
        """The error to raise for a field of the check, with file and line where the suite's files are there."""
        named = f"suite {self.suite.name!r}, case {self.case.id!r}, check {self.check.name!r}"
        said = f"{named}: field {'.'.join(map(str, field))!r}: {problem}"
        place = self._place(field)
        if place is None:
            return UsageError(said, remedy=remedy)
        path, line = place
        return InvalidDocument(path, said, line=line, remedy=remedy)

    def _place(self, field: tuple[int | str, ...]) -> _Place | None:
        try:
            suite = open_document(self.suite.folder / "suite.yaml")
            own = _index_of(suite.data.get("checks"), "name", self.check.name)
            if own is not None:
                return suite.path, suite.line("checks", own, *field)
            return self._place_in_cases(suite, field)
        except (InvalidDocument, AttributeError, TypeError):  # the files are missing, or were changed since
            return None

    def _place_in_cases(self, suite: Document, field: tuple[int | str, ...]) -> _Place | None:
        named = suite.data.get("cases", "cases.yaml")
        for pattern in [named] if isinstance(named, str) else named:
            for path in sorted(suite.path.parent.glob(pattern)):
                source = open_document(path)
                cases = cases_in(source.data)
                number = _index_of(cases, "id", self.case.id)
                own = None if number is None else _index_of(cases[number].get("checks"), "name", self.check.name)
                if number is not None and own is not None:
                    return path, source.line(number, "checks", own, *field)
        return None


def _index_of(items: Any, key: str, value: str) -> int | None:
    listed = items if isinstance(items, list) else []
    return next((n for n, item in enumerate(listed) if isinstance(item, dict) and item.get(key) == value), None)
