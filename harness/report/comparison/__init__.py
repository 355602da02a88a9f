"""Comparisons of runs: pairs, baselines, margins, and releases over time."""
