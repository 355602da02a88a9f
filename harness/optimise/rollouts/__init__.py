"""Rollouts: cases run under a candidate and scored, kept, and paid for."""
