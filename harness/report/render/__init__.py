"""Renderings of a summary and of a comparison. The same run folder gives the same bytes."""
