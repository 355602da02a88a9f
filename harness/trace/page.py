"""A web page as it was seen when the agent had ended: evidence that is no longer live."""

from harness.values import Frozen


class ElementSeen(Frozen):
    """One element."""

    text: str
    """As it is shown; the first 4,000 characters."""
    value: str | None = None
    """Of a field; None: it is none."""
    checked: bool | None = None
    visible: bool = True
    attributes: dict[str, str | None] = {}
    """The requested attributes; None where the element lacks it."""


class ElementsSeen(Frozen):
    """All elements that one selector means."""

    count: int
    elements: tuple[ElementSeen, ...] = ()
    """The first fifty, in the order of the page."""
    problem: str | None = None
    """Why the selector could not be read."""


class PageSeen(Frozen):
    """One page."""

    digest: str
    """The digest of the look, so that a changed check is not scored with an old look."""
    url: str | None = None
    """Where the browser was in the end."""
    title: str | None = None
    status: int | None = None
    """The HTTP status of the page; None where it is not known."""
    found: dict[str, ElementsSeen] = {}
    problem: str | None = None
    """A description of the reason why no page could be read."""
    screenshot: str | None = None
    """A PNG in the trial's folder."""
