"""`harness fork` and `harness blame`: stored trials replayed with changes."""
