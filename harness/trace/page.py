"""A web page as it was when the agent had ended, as stored evidence."""

from harness.values import Frozen


class ElementSeen(Frozen):
    """One element."""

    text: str
    """The displayed text; the first 4,000 characters."""
    value: str | None = None
    """The value of a form field; None: the element is not a form field."""
    checked: bool | None = None
    visible: bool = True
    attributes: dict[str, str | None] = {}
    """The requested attributes; None where the element lacks it."""


class ElementsSeen(Frozen):
    """All elements that match one selector."""

    count: int
    elements: tuple[ElementSeen, ...] = ()
    """The first fifty, in the order of the page."""
    problem: str | None = None
    """Why the selector is invalid."""


class PageSeen(Frozen):
    """One page."""

    digest: str
    """The digest of the page read, so that a changed check is not scored with an old result."""
    url: str | None = None
    """The browser's URL at the end."""
    title: str | None = None
    status: int | None = None
    """The HTTP status of the page; None: unknown."""
    found: dict[str, ElementsSeen] = {}
    problem: str | None = None
    """A description of the reason why no page could be read."""
    screenshot: str | None = None
    """A PNG in the trial's folder."""
