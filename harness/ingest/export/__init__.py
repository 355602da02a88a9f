"""Trials in formats that other tools read."""
