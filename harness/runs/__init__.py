"""Runs: planned, executed, stored, resumed, sharded and merged."""
