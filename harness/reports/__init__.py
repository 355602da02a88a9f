"""Summaries, comparisons and gates of stored runs; their renderings and pages."""
