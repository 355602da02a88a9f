"""`harness drift` and `harness issue`: differences between tools and their recordings, and their issues."""
