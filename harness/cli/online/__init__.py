"""`harness online`: production sessions."""
