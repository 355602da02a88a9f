"""The corridor: suite in, run folder out. `run.py` is the file to read first."""
