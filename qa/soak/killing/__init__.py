"""Killing the harness: a project to run, the phase that a command is in, one kill, and what must be true afterwards."""
