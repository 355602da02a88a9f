"""The files that a sandbox starts from (snapshots) and those that it leaves (end states)."""
