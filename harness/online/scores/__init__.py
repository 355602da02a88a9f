"""Scores of sessions as values: what is scored, where it is kept, and what is sent on."""
