"""Whether themes are the causes: twelve causes planted in real trajectories, and found again.

    python -m qa.themes_eval          (HARNESS_REAL_DATA says where the trajectories are)

The threshold of `harness/production/grouping.py` and the wordings `TUNED` were looked at on tau-bench; tau2 with the
wordings `HELD_OUT` was left out.
"""
