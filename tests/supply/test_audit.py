"""An audit tells what is known, and never takes what could not be looked up for clean."""

from typing import Any

from tests.supply.audit import COULD_NOT, FOUND, verdict

CLEAN: dict[str, Any] = {"name": "click", "version": "8.1", "vulns": []}
OPEN: dict[str, Any] = {**CLEAN, "vulns": [{"id": "PYSEC-1", "fix_versions": ["8.2"]}]}
SKIPPED: dict[str, Any] = {"name": "rich", "skip_reason": "not found"}


def test_clean_is_what_was_looked_up() -> None:
    assert (0, ["0 known vulnerabilities in 1 pins that were looked up"]) == verdict({"dependencies": [CLEAN]})
    assert COULD_NOT == verdict({"dependencies": [CLEAN, SKIPPED]})[0]
    assert COULD_NOT == verdict({"dependencies": []})[0]


def test_what_is_known_is_told_also_beside_what_could_not_be_looked_up() -> None:
    status, lines = verdict({"dependencies": [OPEN, SKIPPED]})
    assert FOUND == status
    assert "click 8.1: PYSEC-1, fixed in ['8.2']" == lines[0]
