"""The uses of a browser: tools that act in one, and pages that checks inspect after the agent has ended."""

from collections.abc import Sequence
from typing import Literal

from harness.case.case import Case, CheckSpec
from harness.case.suite import Suite
from harness.errors import UsageError
from harness.values import Frozen, JsonObject, JsonValue, digest_of

VERIFIER = "dom"
Whose = Literal["fresh", "agent"]
"""`fresh`: a new browser with the snapshot's profile, for this look only. `agent`: the browser as the agent's tools
have left it.
"""


class PageInspection(Frozen):
    """One page to inspect after the agent has ended, and the data to read from it."""

    name: str
    browser: Whose = "fresh"
    url: str | None = None
    """None: the snapshot's known address; of the agent's browser, the page that it was left on."""
    selectors: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the look: a result is only valid for the look that produced it."""
        return digest_of(self.model_dump(mode="json", exclude={"name"}))


def looks_of(suite: Suite, case: Case) -> tuple[PageInspection, ...]:
    """The pages that the checks of `case` need; raises UsageError for one that cannot be read."""
    checks = [*suite.checks, *case.checks]
    return tuple(_look(case, check) for check in checks if check.verifier == VERIFIER)


def needs_browser(suite: Suite) -> bool:
    """Whether any trial of the suite may start a browser."""
    return any(server.browser for server in suite.servers.values()) or any(
        check.verifier == VERIFIER
        for check in (*suite.checks, *(check for case in suite.cases for check in case.checks))
    )


def page_look(name: str, parameters: JsonObject) -> PageInspection:
    """The look that a `dom` check with these parameters needs. Raises ValueError with a description of the problem."""
    expect = parameters.get("expect") or []
    if not isinstance(expect, list):
        raise ValueError("`with.expect` must be a list")
    selectors = [str(item["selector"]) for item in expect if isinstance(item, dict) and "selector" in item]
    return PageInspection.model_validate(
        {
            "name": name,
            "browser": parameters.get("browser", "fresh"),
            "url": parameters.get("url"),
            "selectors": tuple(dict.fromkeys(selectors)),
            "attributes": tuple(sorted(_attributes(expect))),
        }
    )


def _look(case: Case, check: CheckSpec) -> PageInspection:
    try:
        return page_look(check.name, check.parameters)
    except ValueError as error:
        raise UsageError(f"case {case.id!r}, check {check.name!r}: {error}") from None


def _attributes(expect: Sequence[JsonValue]) -> set[str]:
    named: set[str] = set()
    for item in expect:
        attributes = item.get("attributes") if isinstance(item, dict) else None
        named |= set(attributes) if isinstance(attributes, dict) else set()
    return named
