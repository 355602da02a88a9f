"""Simulated users: played by a model, or from a log."""
