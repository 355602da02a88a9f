"""One browser for all tests that look at a page."""

from collections.abc import Iterator

import pytest

from tests.reports.html.browser import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser() as own:
        yield own
