"""A receiver over an empty store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.production.receiving import Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "online") as running:
        yield running
