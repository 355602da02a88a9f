"""The figures of one run: its summary. Each module computes one table."""
