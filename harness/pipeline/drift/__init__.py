"""Checks for drift: recorded reads sent again, listings of tools compared, verdicts that would change."""
