"""Executes the trials of a plan: executors, the shared environment, and one attempt."""
