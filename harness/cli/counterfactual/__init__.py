"""`harness fork`, `harness blame` and `harness minimise`: stored trials replayed with changes."""
