"""Scores over days: control charts, daily reports, and comparisons of populations."""
