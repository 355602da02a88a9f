"""`harness case`: a suite's cases checked, covered and mutated."""
