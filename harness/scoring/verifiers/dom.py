"""Checks the state of a web page after the agent has ended.

The runner reads the page with a browser, and stores a picture; here only the stored result is read, so that a stored
trial can be scored again. A check that has since changed its page or its elements is undecided.
"""

from collections.abc import Iterator
from typing import ClassVar, Self

from pydantic import Field, model_validator

from harness.scoring.evidence import BY_AGENT, Evidence
from harness.scoring.json_values import ProseRule
from harness.suite.checks import Whose, page_look
from harness.suite.suites import Suite
from harness.traces.trajectory import Content
from harness.traces.trial import ElementSeen, ElementsSeen, PageSeen
from harness.values import Frozen, JsonObject

_SHOWN = 5


class ElementRule(Frozen):
    """A rule about the elements that a selector matches: one of them, or with `every` each.

    Without `count` at least one must exist; `count: 0` requires that none does.
    """

    selector: str = Field(min_length=1)
    """CSS, `text=...` or `role=...`, as the browser's tools take it."""
    count: int | None = Field(default=None, ge=0)
    """How many elements there must be; None: at least one."""
    text: ProseRule = ProseRule()
    """What an element's text must be."""
    value: ProseRule = ProseRule()
    """Of a field."""
    attributes: dict[str, str | None] = {}
    """None: the element must not have it."""
    visible: bool | None = None
    """Whether an element must be visible; None: either."""
    checked: bool | None = None
    """Whether a box must be checked; None: either."""
    every: bool = False
    """Whether every element must be so, and not only one."""

    @model_validator(mode="after")
    def _asks_what_can_be(self) -> Self:
        flags = (self.visible, self.checked) != (None, None)
        if self.count == 0 and (flags or self.text.demands or self.value.demands or self.attributes):
            raise ValueError("`count: 0` asks that there is no such element: nothing more can be asked of it")
        return self

    def problem(self, found: ElementsSeen) -> str | None:
        """Explains what does not hold; None if all does."""
        if found.problem is not None:
            return f"{self.selector!r} cannot be read: {found.problem}"
        if self.count is not None and found.count != self.count:
            return f"{self.selector!r} means {found.count} elements, not {self.count}"
        if self.count == 0:
            return None
        if not found.elements:
            return f"there is no {self.selector!r}"
        problems = [self._problem_of(element) for element in found.elements]
        holds = not any(problems) if self.every else None in problems
        return None if holds else f"{self.selector!r}: {next(one for one in problems if one is not None)}"

    def _problem_of(self, element: ElementSeen) -> str | None:
        return next(self._problems_of(element), None)

    def _problems_of(self, element: ElementSeen) -> Iterator[str]:
        for what, rule, actual in (("text", self.text, element.text), ("value", self.value, element.value)):
            wrong = rule.problem(actual or "") if rule.demands else None
            if wrong is not None:
                yield f"its {what} {wrong}"
        for name, wanted in self.attributes.items():
            if element.attributes.get(name) != wanted:
                yield f"its attribute {name} is {element.attributes.get(name)!r}, not {wanted!r}"
        if self.visible is not None and element.visible != self.visible:
            yield "it is shown" if element.visible else "it is not shown"
        if self.checked is not None and element.checked != self.checked:
            yield "it is checked" if element.checked else "it is not checked"


class Dom(Frozen):
    """The page's address, title and elements.

    `browser: fresh` (the default) reads the page with a browser that is restored for it, at `url` or the snapshot's
    known address: the page that any visitor sees. `browser: agent` reads the page on which the agent's own browser was
    left, or opens `url` with its cookies.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    browser: Whose = "fresh"
    """`fresh`: a browser restored for the check; `agent`: the page that the agent's browser was left on."""
    url: str | None = Field(default=None, pattern=r"^https?://")
    """The page to read; None selects the snapshot's known address, or the current page of the agent's browser."""
    title: ProseRule = ProseRule()
    """What the page's title must be."""
    address: ProseRule = ProseRule()
    """Where the browser was in the end."""
    expect: tuple[ElementRule, ...] = ()
    """Elements by selector, each with what must hold for it."""

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.expect or self.title.demands or self.address.demands):
            raise ValueError("asks nothing: give `expect`, `title` or `address`")
        return self

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        if not suite.hosts:
            return "with.url: the suite declares no `hosts:`, so a browser finds no page"
        if self.browser == "agent" and not any(server.browser for server in suite.servers.values()):
            return "with.browser: the suite has no browser tools, so the agent has no browser (`- browser: [...]`)"
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        seen = self._inspected_page(evidence)
        if seen is None:
            visited = bool(evidence.trial.pages)
            return None, "the check looks elsewhere since: run again" if visited else "no page was examined", {}
        if seen.problem is not None:
            by_agent = BY_AGENT if self.browser == "agent" else {}
            return None, f"there is no page to see: {seen.problem}", {"url": seen.url} | by_agent
        problems = list(self._problems(seen))
        details: JsonObject = {"url": seen.url, "title": seen.title, "screenshot": seen.screenshot}
        if problems:
            return False, "; ".join(problems), details | {"seen": _page_evidence(seen)}
        return True, f"{seen.url} is as expected", details

    def _inspected_page(self, evidence: Evidence) -> PageSeen | None:
        digest = page_look("", self.model_dump(mode="json")).digest
        return next((seen for seen in evidence.trial.pages.values() if seen.digest == digest), None)

    def _problems(self, seen: PageSeen) -> Iterator[str]:
        for what, rule, actual in (("title", self.title, seen.title), ("address", self.address, seen.url)):
            wrong = rule.problem(actual or "") if rule.demands else None
            if wrong is not None:
                yield f"the {what} {wrong}"
        for wanted in self.expect:
            problem = wanted.problem(seen.found.get(wanted.selector, ElementsSeen(count=0)))
            if problem is not None:
                yield problem


def _page_evidence(seen: PageSeen) -> JsonObject:
    return {
        selector: {"count": found.count, "texts": [element.text[:200] for element in found.elements[:_SHOWN]]}
        for selector, found in seen.found.items()
    }
